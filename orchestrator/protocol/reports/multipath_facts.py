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

JOINED = 0x4 | 0x8
"""MPTCP_SUBFLOW_FLAG_JOIN_REM and _LOC: the subflow joined a connection that there was."""
BACKUP = 0x10 | 0x20
"""MPTCP_SUBFLOW_FLAG_BKUP_REM and _LOC: the peer or the own side asked for a backup. The scheduler
takes both alike."""


class Multipath(TypedDict):
    """The counters of both ends of a connection at an edge of a window."""

    fact: str
    flow: str
    """The first subflow."""
    time_ns: int
    sender: list[int]
    """By COUNTERS; 0 before the connection."""
    receiver: list[int]


class SubflowState(TypedDict):
    """What the kernel says of an established subflow's sender at an edge of a window."""

    fact: str
    flow: str
    time_ns: int
    flags: int | None
    """MPTCP_SUBFLOW_FLAG_* of include/uapi/linux/mptcp.h; None where the socket is plain TCP."""
