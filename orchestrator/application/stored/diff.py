"""Finds where two stored runs part: the first traced event that is not the same in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, notices
from orchestrator.application.zoom import TracedRun, ZoomRequest, keep, made_again
from orchestrator.errors import RunError, UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording import trace_ranges
from orchestrator.recording.trace import TABLES, Capture, Trace
from orchestrator.units import listed
from results.comparison.first_sample import first_unequal_sample_ns
from results.comparison.one_sided import in_short
from results.comparison.runs import DifferingValue, differing
from results.store.parts.integrity import damaged
from results.store.store import Store
from results.traces.columns import channel_names
from results.traces.difference import parting
from results.traces.difference.comparable import (
    COMPARED,
    NEEDED_TABLES,
    Connections,
    Rows,
    comparable,
)
from results.traces.difference.model import RunDifference, RunSide
from results.traces.difference.traced_events import Names, TracedEvent
from results.traces.own_variables import WITH_KNOWN_STATE

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from results.store.parts.traces import TraceHead
    from results.store.stored import StoredRun

KINDS = frozenset({"acks", "queue", "tcp"})
"""What is traced. All of it is compared."""

LIMIT_BYTES = 512 * 2**20
"""Of a trace in the guest's memory. What does not fit is looked at in another window."""

MARGIN_NS = 500_000_000
"""The first window ends so long after the first sample that differs."""

_OPEN_WORK_NS = 1_000_000
"""A state is told of when the work for its segment is over, and has the time of its begin. So those
of the last moments before a trace is full are missing."""

_NAMED = {"links": "step", "events": "what", "acks": "by", "drops": "name"}
"""The column by table that :attr:`TracedEvent.what` is the name of."""

MOST_NEXT = 10
"""How many events of each run are told after the first one."""


@dataclass
class _Side:
    """One of the runs, and what is known of it so far."""

    run: StoredRun
    connections: Connections = field(default_factory=Connections)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    trace: int | None = None
    made: TracedRun | None = None

    @property
    def names(self) -> Names:
        """The names of its flows and channels."""
        flows = [flow.name for flow in self.run.flows]
        return Names(flows, channel_names(self.run), self.connections.private)

    @property
    def end_ns(self) -> int:
        """When it ends, since the start of traffic."""
        return nanoseconds(self.run.row.simulated_s or 0.0)


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
        set_ups = [_set_up(side.run) for side in sides]
        found = RunDifference((_told(one), _told(other)))
        if not _has_equal_digests(one.run, other.run):
            stored_plans.verification(
                [one.run.id, other.run.id], store, settings.backend, stored_plans.DIFF
            )
            _require_corresponding(one.run, other.run)
            one.connections.private = other.connections.private = _private(one.run, other.run)
            found = _parting(sides, settings, listener)
    return replace(found, set_up=differing(set_ups), in_short=in_short(*set_ups))


def _set_up(run: StoredRun) -> dict[str, object]:
    """Return the set-up of a run: its scenario, kernel and modules."""
    return {**run.head.resolved, "kernel": run.row.kernel, "modules": _modules(run)}


def _modules(run: StoredRun) -> object:
    """Return the SHA-256 of each module of a run by its name; their parameters are a scenario's."""
    modules = run.provenance.get("modules")
    if not isinstance(modules, dict):
        return modules
    return {
        name: module.get("sha256") if isinstance(module, dict) else module
        for name, module in modules.items()
    }


def _has_equal_digests(one: StoredRun, other: StoredRun) -> bool:
    """Tell whether runs are bit-identical; digests of two versions cannot be compared."""
    versions = [(each.row.digest_version, each.row.link_model) for each in (one, other)]
    return one.row.digest is not None and (one.row.digest, versions[0]) == (
        other.row.digest,
        versions[1],
    )


def _require_corresponding(one: StoredRun, other: StoredRun) -> None:
    """Raise UsageError when runs have not the same flows between the same hosts, or links."""
    flows = [
        [f"{flow.name} ({flow.source} to {flow.sink})" for flow in run.flows]
        for run in (one, other)
    ]
    links = [[link.name for link in run.head.links] for run in (one, other)]
    for what, (first, second) in (("flows", flows), ("links", links)):
        if first != second:
            raise UsageError(
                f"diff: run {one.id} has the {what} {listed(first)}, and run {other.id} has "
                f"{listed(second)}\n  fix: name runs with the same flows and links, in the same "
                "order; `orchestrator compare` compares the metrics of any runs"
            )


def _private(one: StoredRun, other: StoredRun) -> dict[int, bytes]:
    """Return the flows with the same congestion control in both, whose private data are known."""
    names = [
        [(flow.congestion_control or "").encode() for flow in run.flows] for run in (one, other)
    ]
    return {
        number: name
        for number, (name, others) in enumerate(zip(*names, strict=True))
        if name == others and name in WITH_KNOWN_STATE
    }


def _told(side: _Side) -> RunSide:
    return RunSide(side.run.id, str(side.run.row.digest), side.end_ns, side.trace)


def _parting(
    sides: tuple[_Side, _Side],
    settings: RunSettings,
    listener: Listener,
) -> RunDifference:
    """Look at window after window from the start, until the runs part."""
    one, other = sides
    end_ns = min(one.end_ns, other.end_ns)
    sampled_ns = first_unequal_sample_ns(one.run, other.run)
    to_ns = end_ns if sampled_ns is None else min(sampled_ns + MARGIN_NS, end_ns)
    from_ns = 0
    equal: Counter[str] = Counter()
    while from_ns < end_ns:
        until_ns = _look(sides, (from_ns, to_ns), settings, listener)
        found = parting.first_parting(one.tables, other.tables, until_ns)
        before_ns = until_ns if found is None else found.time_ns
        equal += Counter({name: _count(rows, before_ns) for name, rows in one.tables.items()})
        if found is not None:
            return _found(sides, found, equal, (until_ns, end_ns), settings, listener)
        from_ns, to_ns = until_ns, (to_ns if until_ns < to_ns else end_ns)
    equal_until_ns = end_ns if sampled_ns is None or sampled_ns >= end_ns else None
    return RunDifference(
        (_told(one), _told(other)), equal=_by_table(equal), equal_until_ns=equal_until_ns
    )


def _by_table(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COMPARED}


def _count(rows: Rows, before_ns: int) -> int:
    return int(np.searchsorted(rows["time_ns"], before_ns))


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
    told = [_told_there(sides, found, number) for number in (0, 1)]
    until_ns, end_ns = rest_ns
    while until_ns < end_ns and any(len(side.following) < MOST_NEXT for side in told):
        from_ns = until_ns
        until_ns = _look(sides, (from_ns, end_ns), settings, listener)
        told = [_told_more(sides, told[number], from_ns, number) for number in (0, 1)]
    kind = next(side.there.kind for side in told if side.there is not None)
    return RunDifference(
        (told[0], told[1]),
        time_ns=found.time_ns,
        kind=kind,
        differing=_differing_values(told),
        equal=_by_table(equal),
    )


def _told_there(sides: tuple[_Side, _Side], found: parting.Parting, number: int) -> RunSide:
    side, other = sides[number], sides[1 - number]
    row = found.rows[number]
    there = None if row is None else _events(side, other, [(found.table, row)])[0]
    places = parting.following(side.tables, other.tables, found, number, MOST_NEXT)
    return replace(_told(side), there=there, following=_events(side, other, places))


def _told_more(sides: tuple[_Side, _Side], told: RunSide, from_ns: int, number: int) -> RunSide:
    """Return what is told of a run, with events of the next window as far as some are missing."""
    side, other = sides[number], sides[1 - number]
    places = parting.from_time(side.tables, from_ns, MOST_NEXT - len(told.following))
    return replace(told, following=[*told.following, *_events(side, other, places)])


def _events(side: _Side, other: _Side, places: Sequence[parting.Place]) -> list[TracedEvent]:
    names = side.names
    return [
        names.traced(table, side.tables[table][row], other.tables[table]) for table, row in places
    ]


def _differing_values(told: Sequence[RunSide]) -> list[DifferingValue]:
    """Return the values in which the first event differs, where both runs have one."""
    one, other = (side.there for side in told)
    if one is None or other is None:
        return []
    values = [{**event.values, _NAMED[event.table]: event.what} for event in (one, other)]
    return differing(values)


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
        part = _part(trace, window_ns[0], until_ns)
        side.tables = comparable(part, side.connections)
        if side.made is not None:
            side.made = replace(side.made, trace=part)
    return until_ns


def _whole_until_ns(trace: Trace) -> int:
    """Return until when a trace has all that happened."""
    return trace.capture.to_ns if trace.full_ns is None else trace.full_ns - _OPEN_WORK_NS


def _part(trace: Trace, from_ns: int, until_ns: int) -> Trace:
    """Return a part of a trace; what is not compared is left out."""
    tables = {name: np.empty(0, dtype) for name, dtype in TABLES.items()}
    tables["ends"] = trace.tables["ends"]
    for name in COMPARED:
        rows = trace.tables[name]
        first, last = np.searchsorted(rows["time_ns"], [from_ns, until_ns]).tolist()
        tables[name] = rows[first:last]
    return Trace(replace(trace.capture, from_ns=from_ns, to_ns=until_ns), tables)


def _trace(
    side: _Side, window_ns: tuple[int, int], settings: RunSettings, listener: Listener
) -> Trace:
    """Return a trace that has all of a window: a stored one, or one that is made now."""
    run, side.made = side.run, None
    showing = _showing(run.traces, window_ns)
    if showing is not None:
        side.trace = showing.number
        trace = run.trace(showing.number, NEEDED_TABLES)
        whole = replace(trace, tables={**Trace(trace.capture).tables, **trace.tables})
        if wrong := trace_ranges.problem(whole, len(run.flows), len(channel_names(run))):
            raise damaged(run.id, f"table trace_tables: {wrong}")
        return trace
    capture = Capture(*window_ns, KINDS, LIMIT_BYTES)
    made = made_again(ZoomRequest(run.id, capture), settings, listener, stored_plans.DIFF)
    if made.digest != made.stored_digest:
        raise RunError(
            f"run {run.id} was made again, and its digest differs: it is {made.digest[:12]}, and "
            f"{made.stored_digest[:12]} was stored; it cannot be said where the runs part"
        )
    side.trace, side.made = None, made
    return made.trace


def _showing(heads: Sequence[TraceHead], window_ns: tuple[int, int]) -> TraceHead | None:
    """Return the smallest stored trace that has all that is compared in a window."""
    showing = [
        head
        for head in heads
        if head.capture.kinds >= KINDS
        and head.capture.from_ns <= window_ns[0]
        and head.capture.to_ns >= window_ns[1]
        and not head.capture.flows
        and not head.capture.links
        and head.full_ns is None
    ]
    return min(showing, key=lambda head: head.stored_bytes, default=None)
