"""CE marks of queues, and what senders do about the echo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.moments import Moment, of_end, until
from results.traces.view import Rows, TraceView, chosen
from results.wording.quantities import plural

_CWR = records.CA_STATES.index("CWR")
_CE = 3


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each group of marks less than a base RTT apart, and each reduction without a loss."""
    yield from _marks(view, flow)
    for end in view.ends(flow, sender=True):
        yield from of_end(view, flow, end, _reductions(view, flow, end))


def marked(rows: Rows, whole: bool) -> Rows:
    """Return the steps at which packets became CE: on arrival, or while they waited.

    ``whole`` tells whether the trace has all steps, or only those of losses and of CE.
    """
    at_once = rows["step"] == records.MARKED
    # Ends of a connection number their packets apart, so the direction is part of the key.
    order = np.lexsort((rows["time_ns"], rows["ip_id"], rows["to_sink"], rows["channel"]))
    ordered = rows[order]
    begun = (ordered["step"] == records.BEGUN) & (ordered["ecn"] == _CE)
    same = np.zeros(len(rows), bool)
    same[1:] = True
    for name in ("ip_id", "to_sink", "channel"):
        same[1:] &= ordered[name][1:] == ordered[name][:-1]
    came = np.zeros(len(rows), bool)
    came[1:] = ordered["step"][:-1] != records.BEGUN
    before_ecn = np.concatenate(([0], ordered["ecn"][:-1])) if len(rows) else ordered["ecn"]
    # A trace of drops has no packet that came without CE; one of the queue has its coming.
    known = same & came
    waited = np.zeros(len(rows), bool)
    waited[order] = begun & (known & (before_ecn != _CE) | (~known & (not whole)))
    return chosen(rows, at_once | waited)


def _marks(view: TraceView, flow: int) -> Iterator[Moment]:
    steps = view.steps(flow, (records.ENQUEUED, records.MARKED, records.BEGUN))
    rows = marked(steps, "queue" in view.kinds)
    gap_ns = view.base_rtt_ns(flow)
    for channel in np.unique(rows["channel"]).tolist():
        of_channel = rows[rows["channel"] == channel]
        breaks = np.flatnonzero(np.diff(of_channel["time_ns"]) > gap_ns) + 1
        for group in np.split(of_channel, breaks):
            queue = view.queue(channel)
            waiting = plural(int(group["queue_packets"][0]), "packet")
            aqm = "the queue" if queue is None else queue.kind
            text = (
                f"{aqm} at {view.channels[channel]} marked "
                f"{plural(len(group), 'packet')} of {view.flows[flow]}, with {waiting} in its queue"
            )
            first_ns, last_ns = int(group["time_ns"][0]), int(group["time_ns"][-1])
            yield Moment(
                first_ns, flow, "mark", text + until(first_ns, last_ns, gap_ns),
                last_ns if len(group) > 1 else None,
                {"channel": view.channels[channel], "packets": len(group)},
                {"links": len(group)},
            )  # fmt: skip


def _reductions(view: TraceView, flow: int, end: int) -> Iterator[Moment]:
    states = view.states(end)
    for event in view.events(end):
        if int(event["what"]) != records.CA_STATE or int(event["value"]) != _CWR:
            continue
        time_ns = int(event["time_ns"])
        earlier = states[states["time_ns"] < time_ns]
        here = states[states["time_ns"] == time_ns]
        echoed = (
            len(here)
            and len(earlier)
            and here["delivered_ce_segments"][-1] > earlier["delivered_ce_segments"][-1]
        )
        why = "the receiver echoed CE marks" if echoed else "without a loss"
        cwnd = f"from {int(earlier['cwnd_segments'][-1])} " if len(earlier) else ""
        text = (
            f"{view.flows[flow]} reduced its window {cwnd}to ssthresh "
            f"{int(event['ssthresh_segments'])}: {why}"
        )
        kind = "ECN reaction" if echoed else "reduction"
        yield Moment(time_ns, flow, kind, text, None, {"echoed": bool(echoed)}, {"events": 1})
