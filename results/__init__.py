"""Keeps runs in SQLite, computes metrics from their stored samples, compares and exports them."""

from pathlib import Path

DEFAULT_DB = Path("results/runs.db")
"""The results database of those who name none, below the current folder."""
