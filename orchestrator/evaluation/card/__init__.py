"""The card: as data, and the files that it is written to."""
