"""Finds the first event that is not the same in the traces of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.difference.comparable import COMPARED, Rows

Tables = Mapping[str, Rows]
Place = tuple[str, int]
"""Table and index of a row."""

_SENDS_LAST = len(COMPARED)
_RANKS = {name: rank for rank, name in enumerate(COMPARED, start=1)}
"""Rows of one time in different tables have no order in a trace. What arrives comes first, then
what the hosts do about it, and what they send comes last."""


@dataclass(frozen=True)
class Parting:
    """The first event that differs: its time, its table, and the row of each run.

    A row is None where the run has no such event at that time.
    """

    time_ns: int
    table: str
    rows: tuple[int | None, int | None]


def first_parting(one: Tables, other: Tables, before_ns: int) -> Parting | None:
    """Return where two runs part before a time; None where all rows before it are equal.

    ``one`` and ``other`` are comparable tables from one time on. Nothing is known from
    ``before_ns`` on.
    """
    found = [
        candidate
        for name in COMPARED
        if (candidate := _in_table(name, one[name], other[name], before_ns)) is not None
    ]
    return min(found, key=lambda each: (each.time_ns, _rank(each, one, other)), default=None)


def _in_table(name: str, one: Rows, other: Rows, before_ns: int) -> Parting | None:
    """Return where a table differs first."""
    index = first_unequal(one, other)
    times = [int(rows["time_ns"][index]) if index < len(rows) else before_ns
             for rows in (one, other)]  # fmt: skip
    time_ns = min(times)
    if time_ns >= before_ns:
        return None
    first, second = (index if time == time_ns else None for time in times)
    return Parting(time_ns, name, (first, second))


def first_unequal(one: Rows, other: Rows) -> int:
    """Return the first index at which rows differ; the shorter length where none does."""
    length = min(len(one), len(other))
    first = length
    for name in one.dtype.names or ():
        unequal = one[name][:first] != other[name][:first]
        if unequal.any():
            first = int(np.argmax(unequal))
    return first


def _rank(parting: Parting, one: Tables, other: Tables) -> int:
    """Return the rank of a parting among others of the same time."""
    if parting.table != "links":
        return _RANKS[parting.table]
    rows = [
        tables["links"][row]
        for tables, row in zip((one, other), parting.rows, strict=True)
        if row is not None
    ]
    if len(rows) == 2 and _packet(rows[0]) == _packet(rows[1]):
        return 0
    return _SENDS_LAST if all(int(row["step"]) == records.ENQUEUED for row in rows) else 0


def _packet(row: np.void) -> tuple[int, ...]:
    """Return what tells packets at a channel apart."""
    names = ("channel", "flow", "to_sink", "connection", "seq", "ack_seq", "payload_bytes")
    return tuple(int(row[name]) for name in names)


def following(own: Tables, other: Tables, parting: Parting, side: int, most: int) -> list[Place]:
    """Return the next rows of a run after its row of a parting, in the order of time.

    Rows of the parting's time that both runs have are left out: they may have come before it.

    Args:
        own: the comparable tables of the run.
        other: those of the other run.
        parting: where they part.
        side: 0 when the run is the first one, 1 for the second one.
        most: how many rows are returned at most.
    """
    parts: dict[str, range] = {}
    for name in COMPARED:
        times = own[name]["time_ns"]
        start, later = np.searchsorted(times, [parting.time_ns, parting.time_ns + 1]).tolist()
        start = max(start, min(first_unequal(own[name], other[name]), later))
        if name == parting.table and parting.rows[side] == start:
            start += 1
        parts[name] = range(start, len(times))
    return list(islice(_merged(own, parts, most), most))


def from_time(own: Tables, from_ns: int, most: int) -> list[Place]:
    """Return the first rows of a run from a time on, in the order of time."""
    parts = {
        name: range(int(np.searchsorted(own[name]["time_ns"], from_ns)), len(own[name]))
        for name in COMPARED
    }
    return list(islice(_merged(own, parts, most), most))


def _merged(tables: Tables, parts: Mapping[str, Sequence[int]], most: int) -> Iterator[Place]:
    """Yield rows of tables in the order of time."""
    found = []
    for name, indices in parts.items():
        last = (0, 0)
        for index in indices[:most]:
            row = tables[name][index]
            time_ns = int(row["time_ns"])
            rank = _RANKS[name]
            if name == "links":
                rank = _SENDS_LAST if int(row["step"]) == records.ENQUEUED else 0
            # What a link does at one time stays in its order.
            last = max(last, (time_ns, rank))
            found.append((last, _RANKS[name], index, name))
    for _time, _rank, index, name in sorted(found):
        yield name, index
