"""The axes of an experiment, and the names that tell its runs, variants and flows apart."""
