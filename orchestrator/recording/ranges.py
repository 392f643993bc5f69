"""The values that a recording's samples and flows can have.

A test bed's files and a stranger's store are held against them. The kernel's own counters may have
any value. Limits are only needed for what indexes, orders, divides or is added up: times, and
64-bit counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from orchestrator.protocol.reports.outcomes import OUTCOMES
from orchestrator.protocol.reports.records import DATAGRAM_COUNTERS
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import FlowRecord

MOST = 2**62
"""Limit of 64-bit counters, with which sums of a few counters still fit."""

MOST_ERRNO = 4095
"""MAX_ERRNO of include/linux/err.h."""

GRACE_NS = 1_000_000_000
"""The end of a transfer, by another machine's clock, may be this much after the end of the run."""

Kind = Literal["tcp", "queues", "sojourn", "counters", "datagrams", "senders", "transfers"]
Ranges = Mapping[str, tuple[int, int]]

_COUNT = (0, MOST)
_TCP_COUNTERS = ("bytes_acked", "bytes_received", "bytes_sent", "bytes_retrans")


def of_samples(kind: Kind, duration_s: float) -> Ranges:
    """Return the least and the largest valid value by column, for columns that have limits.

    Args:
        kind: of the samples; "queues" are readings of queues, too.
        duration_s: of the run.
    """
    end_ns = nanoseconds(duration_s)
    during = (0, end_ns)
    if kind == "transfers":
        return {"start_ns": during, "end_ns": (-1, end_ns + GRACE_NS), "bytes": _COUNT}
    limits = {
        "tcp": dict.fromkeys(_TCP_COUNTERS, _COUNT),
        "queues": {"bytes": _COUNT},
        "counters": {"value": (-MOST, MOST)},
        "datagrams": dict.fromkeys(DATAGRAM_COUNTERS, (-MOST, MOST)),
    }
    return {"time_ns": during, **limits.get(kind, {})}


MOST_EXIT_STATUS = 255


def outcome_problem(flow: FlowRecord) -> str | None:
    """Return what is wrong with how a flow ended, None when nothing is."""
    if flow.outcome not in OUTCOMES:
        return f"outcome is {flow.outcome!r:.50}; {', '.join(OUTCOMES)} are known"
    if flow.errno is not None and not 0 <= flow.errno <= MOST_ERRNO:
        return f"errno is {flow.errno}; 0 to {MOST_ERRNO} is valid"
    if flow.exit_status is not None and not 0 <= flow.exit_status <= MOST_EXIT_STATUS:
        return f"exit_status is {flow.exit_status}; 0 to {MOST_EXIT_STATUS} is valid"
    if flow.connections is not None and flow.connections < 0:
        return f"connections is {flow.connections}; 0 or more is valid"
    if not all(type(moment) in (int, float) for moment in flow.failed_s):
        return "failed_s has something else than numbers"
    return None
