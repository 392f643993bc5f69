"""What stored traces of a run show, read once and kept until the store changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun
from results.traces.causes import what_happened
from results.traces.choice import TraceNeed, Window, window_of
from results.traces.columns import channel_names
from results.traces.moments import Moment
from results.traces.pictures import needs, windows
from results.traces.pictures import occupancy as queues
from results.traces.pictures import time_sequence as sequences
from results.traces.pictures.occupancy import Occupancy
from results.traces.pictures.time_sequence import TimeSequence
from results.traces.pictures.windows import AckStates
from results.traces.stories.costs import CostlyEvent, costliest
from results.traces.stories.time_limits import TimeLimits, time_limits
from results.traces.view import TraceView
from web.http.cache import TRACED, cached

TELLING = TraceNeed(("tcp", "acks"), ("drops", "queue"))
"""What a trace must have so that it tells what happened to flows."""

MOST_COSTLY = 5
"""Events of a flow that cost most."""

_OF_MOMENTS = ("acks", "events", "links", "drops")


@dataclass(frozen=True)
class ToldMoment:
    """Something that happened to a flow, and the number of the trace that shows it."""

    trace: int
    moment: Moment


@dataclass(frozen=True)
class WhatHappened:
    """What happened to all flows, in the order of time, in the parts of the run that are known."""

    traces: Sequence[int]
    windows: Sequence[Window]
    moments: Sequence[ToldMoment]


@dataclass(frozen=True)
class FlowStory:
    """What limited the sender of a flow, and what cost it most.

    ``limits`` is None where no sender was traced, as of UDP. ``costliest`` has events with the
    kinds of their moments.
    """

    limits: TimeLimits | None
    costliest: Sequence[tuple[CostlyEvent, Sequence[str]]]


def telling(heads: Sequence[TraceHead]) -> list[TraceHead]:
    """Return the traces that together tell most: the longest one, and those of other parts."""
    chosen: list[TraceHead] = []
    showing = [head for head in heads if not TELLING.lacks(head)]
    for head in sorted(showing, key=lambda head: (_length(head), head.stored_bytes)):
        begin, end = window_of(head)
        others = map(window_of, chosen)
        if all(end <= first or begin >= last for first, last in others):
            chosen.append(head)
    return sorted(chosen, key=window_of)


def _length(head: TraceHead) -> int:
    begin_ns, end_ns = window_of(head)
    return begin_ns - end_ns


def happened(run: StoredRun, number: int | None = None) -> WhatHappened:
    """Return what happened in a run by the traces that tell it, or by one of them.

    Raises:
        StoreError: a trace cannot be read.
    """
    heads = telling([head for head in run.traces if number in (None, head.number)])
    told = [
        (head, cached((run.id, head.number, "moments"), _moments(run, head), TRACED))
        for head in heads
    ]
    return WhatHappened(
        [head.number for head in heads],
        [window_of(head) for head in heads],
        [ToldMoment(head.number, moment) for head, moments in told for moment in moments],
    )


def _moments(run: StoredRun, head: TraceHead) -> Callable[[], tuple[list[Moment], bool]]:
    def make() -> tuple[list[Moment], bool]:
        view = TraceView(run, needs.read(run, head, _OF_MOMENTS))
        found = [each for flow in range(len(view.flows)) for each in what_happened(view, flow)]
        return sorted(found, key=lambda each: (each.time_ns, each.until_ns or 0)), False

    return make


def of_whole_run(run: StoredRun, heads: Sequence[TraceHead]) -> TraceHead | None:
    """Return the smallest of a run's traces that tells of the whole run; None if none does."""
    need = replace(TELLING, window_ns=(0, round((run.row.simulated_s or 0.0) * 1e9)))
    showing = [head for head in heads if not need.lacks(head)]
    return min(showing, key=lambda head: head.stored_bytes, default=None)


def stories(run: StoredRun, head: TraceHead) -> list[FlowStory]:
    """Return the story of each flow, by a trace of the whole run.

    Raises:
        StoreError: the trace cannot be read.
    """
    moments = cached((run.id, head.number, "moments"), _moments(run, head), TRACED)

    def make() -> tuple[list[FlowStory], bool]:
        view = TraceView(run, needs.read(run, head, windows.TABLES))
        return [_story(view, flow, moments) for flow in range(len(view.flows))], False

    return cached((run.id, head.number, "stories"), make, TRACED)


def _story(view: TraceView, flow: int, moments: Sequence[Moment]) -> FlowStory:
    mine = [moment for moment in moments if moment.flow == flow]
    return FlowStory(
        time_limits(view, flow),
        [
            (event, list(dict.fromkeys(mine[at].kind for at in event.moments)))
            for event in costliest(view, flow, mine, MOST_COSTLY)
        ],
    )


def sequence(run: StoredRun, head: TraceHead, flow: int) -> TimeSequence | None:
    """Return a flow's connection at its sender; None when the trace has no ACK of it.

    Raises:
        StoreError: the trace cannot be read.
    """

    def make() -> tuple[TimeSequence | None, bool]:
        trace = needs.read(run, head, sequences.TABLES)
        return sequences.time_sequence(run, trace, flow), False

    return cached((run.id, head.number, "sequence", flow), make, TRACED)


def queue(run: StoredRun, head: TraceHead, channel: str) -> Occupancy:
    """Return the queue of a channel packet by packet.

    Raises:
        StoreError: the trace cannot be read.
    """

    def make() -> tuple[Occupancy, bool]:
        trace = needs.read(run, head, queues.TABLES)
        return queues.occupancy(trace, channel_names(run).index(channel)), False

    return cached((run.id, head.number, "queue", channel), make, TRACED)


def states(run: StoredRun, head: TraceHead) -> list[list[AckStates]]:
    """Return the states after ACKs of each flow's connections.

    Raises:
        StoreError: the trace cannot be read.
    """

    def make() -> tuple[list[list[AckStates]], bool]:
        trace = needs.read(run, head, windows.TABLES)
        return [list(windows.windows_of(trace, flow)) for flow in range(len(run.flows))], False

    return cached((run.id, head.number, "states"), make, TRACED)


def links(run: StoredRun, head: TraceHead) -> list[str]:
    """Return the channels whose queue a trace has, that which matters most first."""
    there = [f"{each.link}:{each.direction}" for each in run.queues if each.role == "queue"]
    return [
        channel
        for channel in dict.fromkeys([*([needs.channel_of(run, None)] if there else []), *there])
        if not TraceNeed(("queue",), channels=(channel,)).lacks(head)
    ]


@dataclass(frozen=True)
class CloserTrace:
    """A trace that shows packets, with the part of the run that it is of, in seconds."""

    number: int
    from_s: float
    to_s: float


def closer(heads: Sequence[TraceHead]) -> list[CloserTrace]:
    """Return the traces with packets and ACKs, the shortest first."""
    need = TraceNeed(("acks",), ("packets", "queue"))
    showing = [head for head in heads if not need.lacks(head)]
    ordered = sorted(showing, key=_length, reverse=True)
    return [
        CloserTrace(head.number, begin / 1e9, end / 1e9)
        for head in ordered
        for begin, end in [window_of(head)]
    ]
