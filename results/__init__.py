"""Keeps runs in SQLite, computes metrics from their stored samples, compares and exports them."""
