"""What a test bed reports of Multipath TCP connections."""

from __future__ import annotations

from typing import TypedDict

COUNTERS = (
    "fallback",
    "retransmitted_bytes",
    "sent_bytes",
    "received_bytes",
    "acked_bytes",
    "subflows",
)
"""Values of struct mptcp_info of one end: whether it is plain TCP, data sent again over another
subflow, data sent, received in order and acknowledged over all subflows, and how many these are."""


class Multipath(TypedDict):
    """The counters of both ends of a connection at an edge of a window."""

    fact: str
    flow: str
    """The first subflow."""
    time_ns: int
    sender: list[int]
    """By COUNTERS; 0 before the connection."""
    receiver: list[int]
