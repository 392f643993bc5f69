"""Times in which the receive window, the send buffer or the application held a sender back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.moments import Moment, of_end
from results.traces.names import LIMITS
from results.traces.view import Rows, TraceView

_RECEIVE_WINDOW, _SEND_BUFFER = 2, 3
_ESTABLISHED = 1
"""TCP_ESTABLISHED of include/net/tcp_states.h."""
_LEAST_RTTS = 1.0
"""Shorter times are left out: a window that grows holds a sender back at every other ACK."""


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each time of a base RTT or more, and each restart after a pause."""
    for end in view.ends(flow, sender=True):
        yield from of_end(view, flow, end, _limited(view, flow, end))
        yield from of_end(view, flow, end, _restarts(view, flow, end))


def _limited(view: TraceView, flow: int, end: int) -> Iterator[Moment]:
    states = view.states(end)
    if not len(states):
        return
    changes = np.flatnonzero(np.diff(states["limited_by"])) + 1
    starts = [0, *changes.tolist()]
    ends = [*changes.tolist(), len(states) - 1]
    for first, last in zip(starts, ends, strict=True):
        limit = int(states["limited_by"][first])
        begin_ns, end_ns = int(states["time_ns"][first]), int(states["time_ns"][last])
        if limit not in (_RECEIVE_WINDOW, _SEND_BUFFER):
            continue
        if end_ns - begin_ns < _LEAST_RTTS * view.base_rtt_ns(flow):
            continue
        what = LIMITS[limit]
        window = int(states["snd_wnd_bytes"][first])
        size = f" ({window} bytes)" if limit == _RECEIVE_WINDOW else ""
        text = (
            f"the {what}{size} held {view.flows[flow]} back for {(end_ns - begin_ns) / 1e6:.3f} ms"
        )
        yield Moment(
            begin_ns, flow, what, text, end_ns, {"window_bytes": window},
            {"acks": last - first + 1},
        )  # fmt: skip


def _restarts(view: TraceView, flow: int, end: int) -> Iterator[Moment]:
    events, states = view.events(end), view.states(end)
    # As it is established, the kernel begins a connection's window anew.
    is_begin = (events["what"] == records.TCP_STATE) & (events["value"] == _ESTABLISHED)
    begins_ns = set(events["time_ns"][is_begin].tolist())
    for event in events:
        if int(event["what"]) != records.CWND or event["value"] >= event["before"]:
            continue
        if int(event["time_ns"]) in begins_ns or _waits(states, int(event["time_ns"])):
            continue
        text = (
            f"{view.flows[flow]} sent again after a pause longer than its RTO: cwnd went from "
            f"{int(event['before'])} to {int(event['value'])}"
        )
        numbers = {
            "cwnd_before_segments": int(event["before"]),
            "cwnd_after_segments": int(event["value"]),
        }
        yield Moment(
            int(event["time_ns"]), flow, "idle restart", text, None, numbers, {"events": 1}
        )


def _waits(states: Rows, time_ns: int) -> bool:
    """Whether a sender had data in flight before a time. Such a sender does not pause."""
    at = int(np.searchsorted(states["time_ns"], time_ns)) - 1
    return at >= 0 and int(states["packets_out_segments"][at]) > 0
