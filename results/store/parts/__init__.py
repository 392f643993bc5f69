"""Parts of the store beside runs and samples: checksums, files, judgements, notes, owners."""
