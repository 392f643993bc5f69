"""Runs plans, cleans up after them, and checks this machine and our modules."""
