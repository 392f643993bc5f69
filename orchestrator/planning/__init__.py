"""Turns a loaded scenario into planned runs, and estimates their cost."""
