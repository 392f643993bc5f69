"""Numbers, variants and summaries in words, below all that show them."""
