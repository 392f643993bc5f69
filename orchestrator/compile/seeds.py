"""Derives seeds of single flows from the run's seed and the flow's number, not from names."""

from __future__ import annotations

import hashlib


def traffic_seed(seed: int, flow: int) -> int:
    """Return the 64-bit seed of a flow's own random values, such as its periods."""
    digest = hashlib.sha256(f"{seed}:traffic:{flow}".encode()).digest()
    return int.from_bytes(digest[:8], "little")
