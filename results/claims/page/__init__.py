"""The documents of all claims with their verdicts: an overview, and one for each paper."""
