"""Runs as data, with their metrics: one, the list of all, and a page of that list."""
