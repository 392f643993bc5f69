"""When frames arrive over idle links that store and forward them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ACK_BYTES = 66
"""An ACK with timestamps, and what a full segment has beside its data."""
SYN_BYTES = 74
SEGMENT_BYTES = 1448


class IdleLink(NamedTuple):
    """A link's rate and its propagation delay."""

    rate_bps: float
    delay_s: float


def arrivals_s(path: Sequence[IdleLink], frames_bytes: Sequence[int]) -> list[float]:
    """Return when frames arrive that are sent together at time 0, in their order.

    Each link transmits a frame for length * 8 / rate, when the frame has come whole and the frames
    before it are transmitted.
    """
    times_s = [0.0] * len(frames_bytes)
    for link in path:
        free_s = 0.0
        for number, length in enumerate(frames_bytes):
            free_s = max(free_s, times_s[number]) + length * 8 / link.rate_bps
            times_s[number] = free_s + link.delay_s
    return times_s


def crossing_s(path: Sequence[IdleLink], *frames_bytes: int) -> float:
    """Return when the last of these frames arrives, which are sent together at time 0."""
    return arrivals_s(path, frames_bytes)[-1]


def frames_of(size_bytes: int) -> list[int]:
    """Return the frames of a message, in full segments with timestamps."""
    whole, rest = divmod(size_bytes, SEGMENT_BYTES)
    return [SEGMENT_BYTES + ACK_BYTES] * whole + ([rest + ACK_BYTES] if rest else [])
