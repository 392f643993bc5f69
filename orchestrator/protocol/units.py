"""Units of time: whole nanoseconds, in which the specification and all records count."""

from __future__ import annotations

NS_PER_S, NS_PER_MS = 1_000_000_000, 1_000_000


def nanoseconds(seconds: float) -> int:
    """Return the whole nanoseconds that are nearest."""
    return round(seconds * 1e9)
