"""Queueing disciplines of the bed, and their counters."""
