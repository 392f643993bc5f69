"""Fast recoveries: how they began, what they cost, how they ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.moments import Moment, of_end
from results.traces.view import Rows, TraceView, counter
from results.wording.quantities import plural

_OPEN, _RECOVERY = records.CA_STATES.index("Open"), records.CA_STATES.index("Recovery")
_WITH_SACK, _WITHOUT_SACK = "TCPSackRecovery", "TCPRenoRecovery"
_RACK_BIT = 1
"""Of the sysctl tcp_recovery: losses are found by RACK (RFC 8985), for connections with SACK."""


@dataclass
class _Recovery:
    begin_ns: int
    cwnd_segments: int
    how: str
    retransmissions: int = 0
    rows: int = 0
    undone: bool = False


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each fast recovery of a flow's senders."""
    for end in view.ends(flow, sender=True):
        yield from of_end(view, flow, end, _recoveries(view, flow, end))


def _recoveries(view: TraceView, flow: int, end: int) -> Iterator[Moment]:
    states = view.states(end)
    current: _Recovery | None = None
    counted = ""
    for event in view.events(end):
        what, time_ns, name = int(event["what"]), int(event["time_ns"]), counter(event)
        if name in (_WITH_SACK, _WITHOUT_SACK):
            counted = name
        elif what == records.CA_STATE and int(event["value"]) == _RECOVERY:
            before = _cwnd_before(states, time_ns, int(event["cwnd_segments"]))
            current = _Recovery(time_ns, before, _found_by(view, flow, counted))
            counted = ""
        elif current is not None and what == records.RETRANSMIT:
            current.retransmissions += segments(event, states)
            current.rows += 1
        elif current is not None and name.endswith("Undo"):
            current.undone = True
        elif current is not None and what == records.CA_STATE:
            yield _ended(view, flow, current, event, states)
            current = None
    if current is not None:
        yield _moment(view, flow, current, None, "it went on at the end of the trace", {})


def _found_by(view: TraceView, flow: int, counted: str) -> str:
    """Return what found the loss, by the counter that grew as the recovery began."""
    if counted == _WITHOUT_SACK:
        return "duplicate ACKs told of a loss"
    mode = view.sysctl(flow, "net.ipv4.tcp_recovery")
    if counted == _WITH_SACK and mode.isdecimal():
        return "RACK found a loss" if int(mode) & _RACK_BIT else "SACKs told of a loss"
    return "a loss was found"


def _cwnd_before(states: Rows, time_ns: int, otherwise: int) -> int:
    """Return cwnd after the last ACK before a time."""
    earlier = states[states["time_ns"] < time_ns]
    return int(earlier["cwnd_segments"][-1]) if len(earlier) else otherwise


def segments(event: Any, states: Rows) -> int:
    """Return how many segments a retransmission was of: the kernel may send several at a time."""
    at = max(int(np.searchsorted(states["time_ns"], event["time_ns"])) - 1, 0)
    mss_bytes = int(states["mss_bytes"][at]) if len(states) else 0
    length = (int(event["end_seq"]) - int(event["seq"])) % 2**32
    return max(-(-length // mss_bytes), 1) if mss_bytes else 1


def _ended(view: TraceView, flow: int, recovery: _Recovery, event: Any, states: Rows) -> Moment:
    time_ns, after = int(event["time_ns"]), int(event["value"])
    # Some algorithms, such as Linux's Westwood, set both as the last step of the recovery's end.
    later = states[states["time_ns"] >= time_ns]
    last = later[0] if len(later) and int(later["time_ns"][0]) == time_ns else event
    cwnd, ssthresh = int(last["cwnd_segments"]), int(last["ssthresh_segments"])
    took_ms = (time_ns - recovery.begin_ns) / 1e6
    how = "" if after == _OPEN else f" into {records.CA_STATES[after]}"
    text = f"it took {took_ms:.3f} ms{how}, and cwnd went from {recovery.cwnd_segments} to {cwnd}"
    if not recovery.undone and recovery.cwnd_segments and ssthresh < 2**30:
        ratio = ssthresh / recovery.cwnd_segments
        text += f" (ssthresh {ssthresh}, {ratio:.2f} of the cwnd before)"
    return _moment(
        view, flow, recovery, time_ns, text,
        {"took_ms": took_ms, "cwnd_after_segments": cwnd, "ssthresh_segments": ssthresh},
    )  # fmt: skip


def _moment(
    view: TraceView,
    flow: int,
    recovery: _Recovery,
    until_ns: int | None,
    end: str,
    numbers: dict[str, object],
) -> Moment:
    text = (
        f"{recovery.how} of {view.flows[flow]}: fast recovery with "
        f"{plural(recovery.retransmissions, 'retransmission')}; {end}"
    )
    return Moment(
        recovery.begin_ns,
        flow,
        "fast recovery",
        text,
        until_ns,
        {
            "cwnd_before_segments": recovery.cwnd_segments,
            "retransmissions": recovery.retransmissions,
            **numbers,
        },
        {"events": recovery.rows + 1},
    )
