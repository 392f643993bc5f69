"""Marks in the kernel's log, between which the console has only warnings and worse."""

from __future__ import annotations

BEGINS, ENDS = "orchestrator: traffic begins", "orchestrator: traffic ends"
"""Lines that the test bed writes to a guest's kernel log."""

WARNING_LEVEL = 4
"""KERN_WARNING of include/linux/kern_levels.h; worse ones have smaller numbers."""
