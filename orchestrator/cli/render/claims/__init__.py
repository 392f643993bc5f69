"""Text of papers' statements: verdicts, ablations and digests."""
