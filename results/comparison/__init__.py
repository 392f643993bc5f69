"""Comparisons of runs, and of variants over their repetitions."""
