"""What a run was planned to be, as far as the checks of its samples need it: JSON-ready types.

It is stored with the run, because a stored run is judged without its scenario.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class SamplingPlan(TypedDict):
    """The arguments of ``sampling_schedule.ticks`` for the run."""

    duration_ns: int
    tcp_ns: int
    queue_ns: int
    readings_ns: int | None
    """None in runs that were stored without readings."""
    edges_ns: list[int]


class FlowPlan(TypedDict):
    """What is known before the run about the samples of a flow."""

    one_connection: bool
    """Whether it is a TCP flow with one connection."""
    open_until_ns: int | None
    """Its only connection is open until this time; None when it may close at any time."""
    least_rtt_ns: int
    """The smallest sum of delays, there and back, that a packet and its ACK may have."""
    window_limited: bool
    """Whether the scenario limits the receive window or the receive buffer."""
    window_least_bytes: NotRequired[int]
    """The least that the largest window of a bulk flow with a limit must be; see check_window."""
    subflow_of: NotRequired[int]
    """Number of the first subflow of its Multipath TCP connection; absent for other flows."""
    backup: NotRequired[bool]
    """Whether such a subflow carries data only while no other one can."""


class SamplesPlan(TypedDict):
    """Evidence ``plan``: what the samples of a run are compared with."""

    sampling: SamplingPlan
    flows: list[FlowPlan]
    """In the order of ``Recording.flows``."""
