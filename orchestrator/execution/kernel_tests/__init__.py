"""A kernel's own tests in guests: which there are, what each needs, how each ended."""
