"""Finds where two stored runs part: the first traced event that is not the same in both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, notices
from orchestrator.application.zoom import TracedRun, ZoomRequest, keep, made_again
from orchestrator.errors import RunError, UsageError
from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from results.traces.choice import TraceNeed, showing
from results.traces.difference import parting
from results.traces.difference import sides as pairs
from results.traces.difference.comparable import NEEDED_TABLES
from results.traces.difference.model import RunDifference
from results.traces.difference.sides import KINDS, MOST_NEXT, Side
from results.traces.pictures import needs

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings

LIMIT_BYTES = 512 * 2**20
"""Of a trace in the guest's memory. What does not fit is looked at in another window."""

_OPEN_WORK_NS = 1_000_000
"""A state is told of when the work for its segment is over, and has the time of its begin. So those
of the last moments before a trace is full are missing."""


@dataclass
class _Side(Side):
    """One of the runs, with the trace that was made of its window if none is stored."""

    made: TracedRun | None = None


def diff(runs: tuple[str, str], settings: RunSettings, listener: Listener) -> RunDifference:
    """Return where two stored runs part.

    Both are made again with traces where none are stored, in as many windows from the start as it
    takes. The traces of the window in which the runs part are kept with them.

    Raises:
        UsageError: there is no such run, one cannot be made again to the bit, or their flows or
            links do not correspond.
        RunError: a run was made again, and its digest differs.
    """
    Store.open_existing(settings.db, notices(listener)).close()  # traces need the newest schema
    with Store.open_read_only(settings.db) as store:
        one, other = sides = (_Side(store.load(runs[0])), _Side(store.load(runs[1])))
        found = RunDifference((one.told(), other.told()))
        if not pairs.have_equal_digests(one.run, other.run):
            stored_plans.verification(
                [one.run.id, other.run.id], store, settings.backend, stored_plans.DIFF
            )
            if wrong := pairs.not_corresponding(one.run, other.run):
                raise UsageError(
                    f"diff: {wrong}\n  fix: name runs with the same flows and links, in the same "
                    "order; `orchestrator compare` compares the metrics of any runs"
                )
            private = pairs.own_variables_of_both(one.run, other.run)
            for side in sides:
                side.compare_own_variables(private)
            found = _parting(sides, settings, listener)
        return pairs.with_set_ups(found, one.run, other.run)


def _parting(
    sides: tuple[_Side, _Side],
    settings: RunSettings,
    listener: Listener,
) -> RunDifference:
    """Look at window after window from the start, until the runs part."""
    one, other = sides
    end_ns = min(one.end_ns, other.end_ns)
    to_ns, sampled_ns = pairs.first_look_until_ns(sides)
    from_ns = 0
    equal: Counter[str] = Counter()
    while from_ns < end_ns:
        until_ns = _look(sides, (from_ns, to_ns), settings, listener)
        found = parting.first_parting(one.tables, other.tables, until_ns)
        equal += pairs.count_equal(one, until_ns if found is None else found.time_ns)
        if found is not None:
            return _found(sides, found, equal, (until_ns, end_ns), settings, listener)
        from_ns, to_ns = until_ns, (to_ns if until_ns < to_ns else end_ns)
    return pairs.without_parting(sides, equal, sampled_ns)


def _found(
    sides: tuple[_Side, _Side],
    found: parting.Parting,
    equal: Counter[str],
    rest_ns: tuple[int, int],
    settings: RunSettings,
    listener: Listener,
) -> RunDifference:
    """Return what both did where they part, and next; keep the traces that were made."""
    for side in sides:
        if side.made is not None:
            side.trace = keep(side.made, settings).number
            side.made = None
    until_ns, end_ns = rest_ns
    told = pairs.parted(sides, found, equal, until_ns)
    while until_ns < end_ns and any(len(side.following) < MOST_NEXT for side in told.sides):
        from_ns = until_ns
        until_ns = _look(sides, (from_ns, end_ns), settings, listener)
        told = pairs.tell_more(sides, told, (from_ns, until_ns))
    return told


def _look(
    sides: tuple[_Side, _Side],
    window_ns: tuple[int, int],
    settings: RunSettings,
    listener: Listener,
) -> int:
    """Give both runs the tables of a window; return until when they are whole."""
    traces = [_trace(side, window_ns, settings, listener) for side in sides]
    until_ns = min(window_ns[1], *(_whole_until_ns(trace) for trace in traces))
    if until_ns <= window_ns[0]:
        raise UsageError(
            f"diff: what happens at {window_ns[0] / 1e9:.9f} s of the runs {sides[0].run.id} and "
            f"{sides[1].run.id} is more than a trace can have"
        )
    for side, trace in zip(sides, traces, strict=True):
        part = pairs.part_of(trace, window_ns[0], until_ns)
        pairs.look(side, part)
        if side.made is not None:
            side.made = replace(side.made, trace=part)
    return until_ns


def _whole_until_ns(trace: Trace) -> int:
    """Return until when a trace has all that happened."""
    return trace.capture.to_ns if trace.full_ns is None else trace.full_ns - _OPEN_WORK_NS


def _trace(
    side: _Side, window_ns: tuple[int, int], settings: RunSettings, listener: Listener
) -> Trace:
    """Return a trace that has all of a window: a stored one, or one that is made now."""
    run, side.made = side.run, None
    head = showing(run.traces, TraceNeed(tuple(KINDS), window_ns=window_ns))
    if head is not None:
        side.trace = head.number
        return needs.read(run, head, NEEDED_TABLES)
    capture = Capture(*window_ns, KINDS, LIMIT_BYTES)
    made = made_again(ZoomRequest(run.id, capture), settings, listener, stored_plans.DIFF)
    if made.digest != made.stored_digest:
        raise RunError(
            f"run {run.id} was made again, and its digest differs: it is {made.digest[:12]}, and "
            f"{made.stored_digest[:12]} was stored; it cannot be said where the runs part"
        )
    side.trace, side.made = None, made
    return made.trace
