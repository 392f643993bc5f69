"""Two stored runs side by side: whether their events can be compared, and what each run did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from orchestrator.protocol.kernel_modules import OBSERVERS
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import TABLES, Trace
from orchestrator.units import listed
from results.comparison.first_sample import first_unequal_sample_ns
from results.comparison.one_sided import OneSided, in_short
from results.comparison.runs import DifferingValue, differing
from results.store.stored import StoredRun
from results.traces.columns import channel_names
from results.traces.difference import in_kind, parting
from results.traces.difference.comparable import COMPARED, Connections, Rows, comparable
from results.traces.difference.model import RunDifference, RunSide
from results.traces.difference.traced_events import Names, TracedEvent
from results.traces.own_variables import WITH_KNOWN_STATE

KINDS = frozenset({"acks", "queue", "tcp"})
"""What is traced. All of it is compared."""

MARGIN_NS = 500_000_000
"""Runs are looked at first until so long after the first sample that differs."""

MOST_NEXT = 10
"""How many events of each run are told after the first one."""

_NAMED = {"links": "step", "events": "what", "acks": "by", "drops": "name"}
"""The column by table that :attr:`TracedEvent.what` is the name of."""


@dataclass
class Side:
    """One of the runs, and what is known of it so far.

    ``tables`` are the comparable ones of a window, and ``trace`` is the number of the stored trace
    that they are of.
    """

    run: StoredRun
    connections: Connections = field(default_factory=Connections)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    trace: int | None = None

    @property
    def names(self) -> Names:
        """The names of its flows and channels."""
        flows = [flow.name for flow in self.run.flows]
        return Names(flows, channel_names(self.run), self.connections.private)

    @property
    def end_ns(self) -> int:
        """When it ends, since the start of traffic."""
        return nanoseconds(self.run.row.simulated_s or 0.0)

    def told(self) -> RunSide:
        """Return what is told of it before its events."""
        return RunSide(self.run.id, str(self.run.row.digest), self.end_ns, self.trace)

    def compare_own_variables(self, private: Mapping[int, bytes]) -> None:
        """Compare the private data of these flows, too; see ``Connections``."""
        self.connections.private = private


def with_set_ups(difference: RunDifference, one: StoredRun, other: StoredRun) -> RunDifference:
    """Return a difference with that of the runs' set-ups."""
    set_up = differing(_set_ups(one, other))
    return replace(difference, set_up=set_up, in_short=set_ups_in_short(one, other))


def set_ups_in_short(one: StoredRun, other: StoredRun) -> list[DifferingValue | OneSided]:
    """Return in what set-ups differ, with one element for a part that one of them has alone."""
    return in_short(*_set_ups(one, other))


def _set_ups(*runs: StoredRun) -> list[dict[str, object]]:
    """Return the set-up of each run: its scenario, and kernel and modules if all ended ok.

    A trace changes nothing of a run, so what is traced is no part of it, as are modules that only
    observe. Of a run that did not end ok, kernel and modules are not known.
    """
    found: list[dict[str, object]] = [
        {key: value for key, value in run.head.resolved.items() if key != "capture"} for run in runs
    ]
    if all(run.status == "ok" for run in runs):
        for run, set_up in zip(runs, found, strict=True):
            set_up.update(kernel=run.row.kernel, modules=_modules(run))
    return found


def _modules(run: StoredRun) -> object:
    """Return the SHA-256 of each module of a run by its name; their parameters are a scenario's."""
    modules = run.provenance.get("modules")
    if not isinstance(modules, dict):
        return modules
    return {
        name: module.get("sha256") if isinstance(module, dict) else module
        for name, module in modules.items()
        if name not in OBSERVERS
    }


def have_equal_digests(one: StoredRun, other: StoredRun) -> bool:
    """Tell whether runs are bit-identical; digests of two versions cannot be compared."""
    versions = [(each.row.digest_version, each.row.link_model) for each in (one, other)]
    return one.row.digest is not None and (one.row.digest, versions[0]) == (
        other.row.digest,
        versions[1],
    )


def not_corresponding(one: StoredRun, other: StoredRun) -> str:
    """Return what is wrong when runs have not the same flows between the same hosts, or links."""
    flows = [
        [f"{flow.name} ({flow.source} to {flow.sink})" for flow in run.flows]
        for run in (one, other)
    ]
    links = [[link.name for link in run.head.links] for run in (one, other)]
    for what, (first, second) in (("flows", flows), ("links", links)):
        if first != second:
            return (
                f"run {one.id} has the {what} {listed(first)}, and run {other.id} has "
                f"{listed(second)}"
            )
    return ""


def own_variables_of_both(one: StoredRun, other: StoredRun) -> dict[int, bytes]:
    """Return the flows with the same congestion control in both, whose private data are known."""
    names = [
        [(flow.congestion_control or "").encode() for flow in run.flows] for run in (one, other)
    ]
    return {
        number: name
        for number, (name, others) in enumerate(zip(*names, strict=True))
        if name == others and name in WITH_KNOWN_STATE
    }


def part_of(trace: Trace, from_ns: int, until_ns: int) -> Trace:
    """Return a part of a trace; what is not compared is left out."""
    tables = {name: np.empty(0, dtype) for name, dtype in TABLES.items()}
    tables["ends"] = trace.tables["ends"]
    for name in COMPARED:
        rows = trace.tables[name]
        first, last = np.searchsorted(rows["time_ns"], [from_ns, until_ns]).tolist()
        tables[name] = rows[first:last]
    return Trace(replace(trace.capture, from_ns=from_ns, to_ns=until_ns), tables)


def look(side: Side, part: Trace) -> None:
    """Give a run the comparable tables of a part of a trace."""
    side.tables = comparable(part, side.connections)


def first_look_until_ns(sides: tuple[Side, Side]) -> tuple[int, int | None]:
    """Return until when the runs are looked at first, and when a sample differs first."""
    end_ns = min(side.end_ns for side in sides)
    sampled_ns = first_unequal_sample_ns(sides[0].run, sides[1].run)
    return end_ns if sampled_ns is None else min(sampled_ns + MARGIN_NS, end_ns), sampled_ns


def count_equal(side: Side, before_ns: int) -> Counter[str]:
    """Return how many rows of each table are before a time."""
    return Counter(
        {
            name: int(np.searchsorted(rows["time_ns"], before_ns))
            for name, rows in side.tables.items()
        }
    )


def without_parting(
    sides: tuple[Side, Side], equal: Counter[str], sampled_ns: int | None
) -> RunDifference:
    """Return what is told of runs in which no traced event differs until the shorter one ends."""
    end_ns = min(side.end_ns for side in sides)
    equal_until_ns = end_ns if sampled_ns is None or sampled_ns >= end_ns else None
    return RunDifference(
        (sides[0].told(), sides[1].told()), equal=_by_table(equal), equal_until_ns=equal_until_ns
    )


def parted(
    sides: tuple[Side, Side], found: parting.Parting, equal: Counter[str], until_ns: int
) -> RunDifference:
    """Return what both runs did where they part, and next, as far as their tables have it.

    The tables have all until ``until_ns``.
    """
    told = [_told_there(sides, found, number) for number in (0, 1)]
    kind = next(side.there.kind for side in told if side.there is not None)
    difference = RunDifference(
        (told[0], told[1]),
        time_ns=found.time_ns,
        kind=kind,
        differing=_differing_values(told),
        equal=_by_table(equal),
    )
    return _with_kind(difference, sides, (found.time_ns, until_ns), found)


def _with_kind(
    found: RunDifference,
    sides: tuple[Side, Side],
    window_ns: tuple[int, int],
    without: parting.Parting | None = None,
) -> RunDifference:
    """Return a difference with the first one in kind within a window, unless it has one."""
    if found.in_kind_time_ns is not None:
        return found
    alone = in_kind.first_alone(sides[0].tables, sides[1].tables, *window_ns, without)
    if alone is None:
        return replace(found, in_kind_until_ns=window_ns[1])
    one, other = (
        side
        if row is None
        else replace(
            side, in_kind=_events(sides[number], sides[1 - number], [(alone.table, row)])[0]
        )
        for number, (side, row) in enumerate(zip(found.sides, alone.rows, strict=True))
    )
    return replace(
        found,
        sides=(one, other),
        in_kind_time_ns=alone.time_ns,
        in_kind_until_ns=window_ns[1],
    )


def _by_table(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COMPARED}


def _told_there(sides: tuple[Side, Side], found: parting.Parting, number: int) -> RunSide:
    side, other = sides[number], sides[1 - number]
    row = found.rows[number]
    there = None if row is None else _events(side, other, [(found.table, row)])[0]
    places = parting.following(side.tables, other.tables, found, number, MOST_NEXT)
    return replace(side.told(), there=there, following=_events(side, other, places))


def tell_more(
    sides: tuple[Side, Side], found: RunDifference, window_ns: tuple[int, int]
) -> RunDifference:
    """Return a difference with events of a later window, as far as some are missing."""
    told = [_told_more(sides, found.sides[number], window_ns[0], number) for number in (0, 1)]
    return _with_kind(replace(found, sides=(told[0], told[1])), sides, window_ns)


def _told_more(sides: tuple[Side, Side], told: RunSide, from_ns: int, number: int) -> RunSide:
    side, other = sides[number], sides[1 - number]
    places = parting.from_time(side.tables, from_ns, MOST_NEXT - len(told.following))
    return replace(told, following=[*told.following, *_events(side, other, places)])


def _events(side: Side, other: Side, places: Sequence[parting.Place]) -> list[TracedEvent]:
    names = side.names
    return [
        names.traced(table, side.tables[table], row, other.tables[table]) for table, row in places
    ]


def _differing_values(told: Sequence[RunSide]) -> list[DifferingValue]:
    """Return the values in which the first event differs, where both runs have one."""
    one, other = (side.there for side in told)
    if one is None or other is None:
        return []
    values = [{**event.values, _NAMED[event.table]: event.what} for event in (one, other)]
    return differing(values)
