"""Retransmission timeouts, whether they were spurious, and tail loss probes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.moments import Moment, of_end
from results.traces.names import LOSS_PROBE_TIMER, RETRANSMISSION_TIMER
from results.traces.view import Rows, TraceView, counter

_SPURIOUS = {
    "TCPSpuriousRTOs": "ACKs of what was not sent again came first (F-RTO)",
    "TCPLossUndo": "an ACK's time stamp was that of the first transmission",
}
"""Counters by which the kernel tells that a timeout was spurious. F-RTO counts both."""


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each timeout and each probe of a flow's senders."""
    for end in view.ends(flow, sender=True):
        events = view.events(end)
        for position in np.flatnonzero(events["what"] == records.TIMER).tolist():
            yield from of_end(view, flow, end, _of_timer(view, flow, events, position))


def _of_timer(view: TraceView, flow: int, events: Rows, position: int) -> Iterator[Moment]:
    timer = events[position]
    name = view.flows[flow]
    time_ns = int(timer["time_ns"])
    same_time = events[events["time_ns"] == time_ns]
    counted = {counter(event) for event in same_time}
    waiting = (int(timer["end_seq"]) - int(timer["seq"])) % 2**32
    if "TCPSynRetrans" in counted:
        return  # the handshake tells it
    if int(timer["value"]) == RETRANSMISSION_TIMER and "TCPTimeouts" in counted:
        rto_ms = int(timer["before"]) / 1000
        spurious = _why_spurious(events[position:])
        before, after = int(timer["cwnd_segments"]), int(same_time["cwnd_segments"][-1])
        text = (
            f"the retransmission timer of {name} ran out (RTO {rto_ms:.0f} ms) with "
            f"{waiting} bytes in flight; cwnd went from {before} to {after}"
        )
        if spurious:
            text += f"; it was spurious: {spurious}"
        kind = "spurious timeout" if spurious else "timeout"
        numbers = {
            "rto_ms": rto_ms,
            "in_flight_bytes": waiting,
            "cwnd_before_segments": before,
            "cwnd_after_segments": after,
        }
        yield Moment(time_ns, flow, kind, text, None, numbers, {"events": len(same_time)})
    elif int(timer["value"]) == LOSS_PROBE_TIMER and "TCPLossProbes" in counted:
        text = f"no ACK of {name} came for a while: a tail loss probe was sent"
        yield Moment(time_ns, flow, "tail loss probe", text, None, {}, {"events": len(same_time)})


def _why_spurious(later: Rows) -> str:
    """Return how the kernel found a timeout to be spurious before the next one, if it did."""
    found = ""
    for event in later[1:]:
        name = counter(event)
        if name == "TCPSpuriousRTOs":
            return _SPURIOUS[name]
        found = found or _SPURIOUS.get(name, "")
        if int(event["what"]) == records.TIMER and int(event["value"]) == RETRANSMISSION_TIMER:
            break
    return found
