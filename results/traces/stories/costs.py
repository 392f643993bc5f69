"""What events cost a flow: bytes that it was behind the line of its earlier goodput.

An event is one or more moments: one that begins while an earlier one lasts, or less than an RTT
after its begin, is of the same event. So is a reaction, such as a timeout, if the last ACK or timer
before it came less than an RTO after that moment: a sender finds a loss by then, or waits in
silence for its timer. Times in which a window or a buffer held the sender back do not last here.

The level of an event is the rate at which data were newly acknowledged, cumulatively or by SACK, in
the RTT before it. Its cost is the most that the flow fell behind this level from the event's begin
until the next event's. The flow is back at its level there, if an RTT or more is left. Time in
which the sender had neither unsent nor unacknowledged data does not count. RTT and RTO are the
sender's own, smoothed and as they are then.

Loss recoveries back to back are one chain, though each event has its own, lower level: the flow was
not back at the first one. A recovery is of a chain if it begins less than an RTT after all of the
event before it, which has a recovery, too, was over. The cost of a chain is the sum of its events'.

A handshake has no level before it. Its level is the flow's mean rate while it was busy, to the end
that is looked at, and its cost is what that rate makes in its time beyond a base RTT. One beside
other connections of the flow that have data costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from results.traces.causes.handshakes import KIND, states_after
from results.traces.moments import Moment
from results.traces.view import TraceView

_NS_PER_S = 10**9

_REACTIONS = frozenset(
    {"fast recovery", "timeout", "spurious timeout", "tail loss probe", "tail loss", "undo",
     "lost retransmission", "ECN reaction", "reduction"}
)  # fmt: skip
"""Kinds of moments that are a sender's answer to what happened before."""
_RECOVERIES = frozenset({"fast recovery", "timeout", "spurious timeout"})
_LIMITS = frozenset({"receive window", "send buffer"})


@dataclass(frozen=True)
class CostlyEvent:
    """An event, or a chain of some, and what it cost.

    ``moments`` are indices of the flow's moments. ``until_ns`` is when the flow was furthest
    behind, and ``is_back`` whether that was an RTT or more before the next event or the end. Of a
    chain ``events`` is how many it has, ``level_bps`` the level of its first one, and ``is_back``
    whether the flow had that level again. ``until_ns`` is when its last recovery was over, or the
    flow furthest behind in that one.
    """

    time_ns: int
    until_ns: int
    is_back: bool
    cost_bytes: int
    level_bps: float
    moments: Sequence[int]
    events: int = 1


@dataclass(frozen=True)
class _Delivery:
    """What was acknowledged of a flow: arrays with a value for each state of its senders.

    ``total_bytes``, ``srtt_ns`` and ``rto_ns`` are after the state, ``busy_ns`` how long the sender
    had been busy by then, and ``is_busy`` whether it was so until the next one.
    """

    times_ns: npt.NDArray[np.int64]
    total_bytes: npt.NDArray[np.int64]
    srtt_ns: npt.NDArray[np.int64]
    rto_ns: npt.NDArray[np.int64]
    busy_ns: npt.NDArray[np.int64]
    is_busy: npt.NDArray[np.bool_]

    def last(self, time_ns: int) -> int:
        """Return the index of the last state before a time, -1 for none."""
        return int(np.searchsorted(self.times_ns, time_ns)) - 1

    def bytes_until(self, time_ns: int) -> int:
        """Return what was acknowledged before a time."""
        at = self.last(time_ns)
        return int(self.total_bytes[at]) if at >= 0 else 0

    def busy_until(self, time_ns: int) -> int:
        """Return how long the sender was busy before a time."""
        at = self.last(time_ns)
        if at < 0:
            return 0
        more = time_ns - int(self.times_ns[at]) if self.is_busy[at] else 0
        return int(self.busy_ns[at]) + more


def costliest(
    view: TraceView, flow: int, moments: Sequence[Moment], most: int, end_ns: int | None = None
) -> list[CostlyEvent]:
    """Return the events that cost a flow most, the costliest first; none of a flow of UDP.

    Args:
        view: a trace with ``acks``.
        flow: the flow's number.
        moments: what happened to it, in the order of time.
        most: how many are wanted.
        end_ns: until when the flow is looked at, by default the trace's end.
    """
    delivery = _delivery(view, flow)
    if delivery is None:
        return []
    events = _events(moments, delivery)
    begins = [moments[event[0]].time_ns for event in events]
    last_ns = view.trace.capture.to_ns if end_ns is None else end_ns
    ends = [*begins[1:], last_ns]
    found = []
    for chain in _chains(moments, events, delivery):
        first, last = chain[0], chain[-1]
        shaken = next((moments[at] for at in events[first] if _stalls(moments[at], delivery)), None)
        if shaken is not None:
            costly = _handshake_cost(
                delivery, events[first], shaken, last_ns, view.base_rtt_ns(flow)
            )
        else:
            costs = [_cost(delivery, events[at], begins[at], ends[at]) for at in chain]
            together = [moment for at in chain for moment in events[at]]
            whole = _cost(delivery, together, begins[first], ends[last])
            over_ns = min(_over_ns(moments, events[last]), ends[last])
            costly = _sum(costs, whole, together, over_ns)
        if costly is not None:
            found.append(costly)
    return sorted(found, key=lambda each: (-each.cost_bytes, each.time_ns))[:most]


def _chains(
    moments: Sequence[Moment], events: Sequence[Sequence[int]], delivery: _Delivery
) -> list[list[int]]:
    """Return the indices of the events of each chain; most chains have one."""
    chains: list[list[int]] = []
    over_ns = 0
    for number, event in enumerate(events):
        begin_ns = moments[event[0]].time_ns
        at = delivery.last(begin_ns)
        rtt_ns = int(delivery.srtt_ns[at]) if at >= 0 else 0
        recovers = any(moments[each].kind in _RECOVERIES for each in event)
        if recovers and begin_ns < over_ns + rtt_ns:
            chains[-1].append(number)
        else:
            chains.append([number])
        over_ns = 0
        if recovers:
            over_ns = _over_ns(moments, event)
    return chains


def _over_ns(moments: Sequence[Moment], event: Sequence[int]) -> int:
    """Return when all moments of an event were over."""
    return max(moments[at].until_ns or moments[at].time_ns for at in event)


def _sum(
    costs: Sequence[CostlyEvent | None],
    whole: CostlyEvent | None,
    moments: Sequence[int],
    over_ns: int,
) -> CostlyEvent | None:
    """Return the events of a chain as one; None if none of them cost anything.

    ``whole`` is what all of it cost by the level before it, and ``over_ns`` when all was over.
    """
    known = [cost for cost in costs if cost is not None]
    if len(costs) == 1 or whole is None or not known:
        return known[0] if known else None
    return replace(
        whole,
        until_ns=max(known[-1].until_ns, over_ns),
        cost_bytes=sum(cost.cost_bytes for cost in known),
        moments=moments,
        events=len(costs),
    )


def _delivery(view: TraceView, flow: int) -> _Delivery | None:
    """Return what was acknowledged of a flow; None where no state of a sender was traced."""
    of_ends = [rows for end in view.ends(flow, sender=True) if len(rows := states_after(view, end))]
    if not of_ends:
        return None
    rows = np.concatenate(of_ends)
    grown, changed = [], []
    for states in of_ends:
        delivered = states["delivered_segments"].astype(np.int64)
        # What was acknowledged before the trace does not count.
        segments = np.diff(delivered, prepend=delivered[:1]).astype(np.int64) % 2**32
        grown.append(segments * states["mss_bytes"])
        changed.append(np.diff((states["limited_by"] != 0).astype(np.int64), prepend=0))
    order = np.argsort(rows["time_ns"], kind="stable")
    times_ns = rows["time_ns"][order].astype(np.int64)
    is_busy = np.cumsum(np.concatenate(changed)[order]) > 0
    spans_ns = np.diff(times_ns) * is_busy[:-1]
    return _Delivery(
        times_ns,
        np.cumsum(np.concatenate(grown)[order]),
        rows["srtt_us"][order].astype(np.int64) * 1000,
        rows["rto_us"][order].astype(np.int64) * 1000,
        np.concatenate(([0], np.cumsum(spans_ns))),
        is_busy,
    )


def _events(moments: Sequence[Moment], delivery: _Delivery) -> list[list[int]]:
    """Return the indices of the moments of each event, in the order of time."""
    events: list[list[int]] = []
    open_ns = reaction_ns = 0
    for number, moment in enumerate(moments):
        at = delivery.last(moment.time_ns)
        state_ns, rtt_ns, rto_ns = (
            int(column[at]) if at >= 0 else 0
            for column in (delivery.times_ns, delivery.srtt_ns, delivery.rto_ns)
        )
        reacts = moment.kind in _REACTIONS and state_ns < reaction_ns
        if events and (reacts or moment.time_ns < open_ns):
            events[-1].append(number)
        else:
            events.append([number])
            open_ns = reaction_ns = 0
        until_ns = moment.until_ns or moment.time_ns
        if moment.kind in _LIMITS or (moment.kind == KIND and not _stalls(moment, delivery)):
            until_ns = moment.time_ns
        open_ns = max(open_ns, until_ns, moment.time_ns + rtt_ns)
        reaction_ns = max(reaction_ns, until_ns + rto_ns)
    return events


def _stalls(moment: Moment, delivery: _Delivery) -> bool:
    """Whether a moment is a handshake for which a flow waits: no other connection has data."""
    begin_ns, until_ns = moment.time_ns, moment.until_ns
    if moment.kind != KIND or until_ns is None:
        return False
    return delivery.busy_until(begin_ns) == delivery.busy_until(until_ns)


def _cost(
    delivery: _Delivery, event: Sequence[int], begin_ns: int, end_ns: int
) -> CostlyEvent | None:
    """Return what an event cost; None where the flow had no level, or did not fall behind it."""
    at = delivery.last(begin_ns)
    rtt_ns = int(delivery.srtt_ns[at]) if at >= 0 else 0
    if not rtt_ns:
        return None
    before = delivery.bytes_until(begin_ns)
    level = (before - delivery.bytes_until(begin_ns - rtt_ns)) / rtt_ns
    inside = slice(at + 1, delivery.last(end_ns) + 1)
    times_ns = np.append(delivery.times_ns[inside], end_ns)
    # With the next ACK's bytes, or a flow at its level would be behind by them just before it.
    following = min(inside.stop, len(delivery.total_bytes) - 1)
    total = np.append(delivery.total_bytes[inside], delivery.total_bytes[following])
    busy_ns = np.append(delivery.busy_ns[inside], delivery.busy_until(end_ns))
    behind = level * (busy_ns - delivery.busy_until(begin_ns)) - (total - before)
    worst = int(np.argmax(behind))
    if behind[worst] < 1:
        return None
    return CostlyEvent(
        begin_ns,
        int(times_ns[worst]),
        end_ns - int(times_ns[worst]) >= rtt_ns,
        round(float(behind[worst])),
        level * 8 * _NS_PER_S,
        event,
    )


def _handshake_cost(
    delivery: _Delivery, event: Sequence[int], handshake: Moment, end_ns: int, base_rtt_ns: int
) -> CostlyEvent | None:
    """Return what a handshake cost for which the flow waited longer than an RTT."""
    begin_ns, until_ns = handshake.time_ns, handshake.until_ns
    busy_ns = delivery.busy_until(end_ns)
    if until_ns is None or not busy_ns:
        return None
    level = delivery.bytes_until(end_ns) / busy_ns
    cost_bytes = round(level * (until_ns - begin_ns - base_rtt_ns))
    if cost_bytes < 1:
        return None
    return CostlyEvent(begin_ns, until_ns, False, cost_bytes, level * 8 * _NS_PER_S, event)
