"""Which events of two runs are the same in kind, and which one run has alone.

Events of one time are alike where they are the same step of the same packet, the state after the
same ACK, or the same event of the same connection. Their other values, such as the length of the
queue or cwnd, may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from results.traces import names
from results.traces.difference.comparable import COMPARED, Rows
from results.traces.difference.parting import Parting, Tables, first_unequal

_PACKET = ("flow", "to_sink", "connection", "protocol", "tcp_flags", "seq", "ack_seq",
           "payload_bytes")  # fmt: skip
_END = ("flow", "is_sender", "connection")
_KEYS = {
    "drops": (*_PACKET, "name"),
    "events": (*_END, "what", "name", "value", "before", "seq", "end_seq"),
    "acks": (*_END, "by", "seq", "end_seq", "ack_seq"),
    "links": ("channel", "step", *_PACKET),
}
"""The columns, by table, in which events that are alike are equal."""

_KEYS_OF_EVENTS = {
    "name": (records.COUNTER,),
    "value": (records.CA_STATE, records.TCP_STATE, records.TIMER),
    "before": (records.CA_STATE, records.TCP_STATE),
    "seq": (records.RETRANSMIT,),
    "end_seq": (records.RETRANSMIT,),
}
"""The events of which these columns tell the kind."""

_LOST = (*names.LOSSES, records.MARKED)
_STEERING = (records.RETRANSMIT, records.CA_STATE)


@dataclass(frozen=True)
class Alone:
    """The first event that one run has and the other has not at that time.

    A row is None where the run has no such event. Both have one where each has one of its own.
    """

    time_ns: int
    table: str
    rows: tuple[int | None, int | None]


def keys(table: str, rows: Rows) -> Rows:
    """Return the time of each comparable row, and in what rows that are alike are equal."""
    own = COMPARED[table]
    made = np.zeros(len(rows), [(name, own[name]) for name in ("time_ns", *_KEYS[table])])
    for name in made.dtype.names or ():
        made[name] = rows[name]
        if table == "events" and name in _KEYS_OF_EVENTS:
            made[name][~np.isin(rows["what"], _KEYS_OF_EVENTS[name])] = np.zeros(1, own[name])[0]
    return made


def like(table: str, row: Any, earlier: Rows, others: Rows) -> Any | None:
    """Return the row of the other run that is like a row; None where it has none.

    ``earlier`` are the rows of the run's own table at that time before this one, and ``others``
    are those of the other run at that time.
    """
    (key,) = keys(table, np.array([row], COMPARED[table]))
    number = int(np.sum(keys(table, earlier) == key))
    alike = np.flatnonzero(keys(table, others) == key)
    return others[alike[number]] if number < len(alike) else None


def first_alone(
    one: Tables, other: Tables, from_ns: int, before_ns: int, without: Parting | None = None
) -> Alone | None:
    """Return the first difference in kind from a time on that says how the runs go on.

    It is a state after an ACK or a timer, a loss, a mark, a retransmission, or a change of the
    congestion state. Other steps of packets and counters follow from these.

    Args:
        one: comparable tables of the first run.
        other: those of the second run.
        from_ns: nothing earlier is returned.
        before_ns: nothing is known from then on.
        without: where the runs part; its rows are left out.
    """
    found = [
        alone
        for table in COMPARED
        if (alone := _in_table(table, (one, other), (from_ns, before_ns), without)) is not None
    ]
    # Of one time, a loss comes first, and then what the ends do about it.
    return min(found, key=lambda each: (each.time_ns, _ORDER.index(each.table)), default=None)


_ORDER = ("links", "drops", "events", "acks")


def _in_table(
    table: str, both: tuple[Tables, Tables], window_ns: tuple[int, int], without: Parting | None
) -> Alone | None:
    chosen = [
        _chosen(table, tables, window_ns, _left_out(table, side, without))
        for side, tables in enumerate(both)
    ]
    made = [keys(table, tables[table][rows])
            for tables, rows in zip(both, chosen, strict=True)]  # fmt: skip
    found = _first_unlike(made[0], made[1])
    if found is None:
        return None
    time_ns, *alone = found
    rows = [None if at is None else int(chosen[side][at]) for side, at in enumerate(alone)]
    return Alone(time_ns, table, (rows[0], rows[1]))


def _left_out(table: str, side: int, without: Parting | None) -> int | None:
    return without.rows[side] if without is not None and without.table == table else None


def _chosen(
    table: str, tables: Mapping[str, Rows], window_ns: tuple[int, int], without: int | None
) -> npt.NDArray[np.intp]:
    """Return the indices of the rows of a window that say how a run goes on."""
    rows = tables[table]
    first, last = np.searchsorted(rows["time_ns"], window_ns).tolist()
    steers = np.ones(last - first, bool)
    if table == "links":
        steers = np.isin(rows["step"][first:last], _LOST)
    elif table == "events":
        steers = np.isin(rows["what"][first:last], _STEERING)
    chosen = first + np.flatnonzero(steers)
    return chosen if without is None else np.delete(chosen, np.flatnonzero(chosen == without))


def _first_unlike(one: Rows, other: Rows) -> tuple[int, int | None, int | None] | None:
    """Return the first time at which keys are not the same in both, and the first index of each."""
    begins = [0, 0]
    while True:
        unequal = first_unequal(one[begins[0] :], other[begins[1] :])
        ahead = [begin + unequal for begin in begins]
        times = [int(rows["time_ns"][at]) for rows, at in zip((one, other), ahead, strict=True)
                 if at < len(rows)]  # fmt: skip
        if not times:
            return None
        time_ns = min(times)
        groups = [np.searchsorted(rows["time_ns"], [time_ns, time_ns + 1]).tolist()
                  for rows in (one, other)]  # fmt: skip
        # Rows of one time may have another order.
        first, second = (
            Counter(key.tobytes() for key in rows[begin:end])
            for rows, (begin, end) in zip((one, other), groups, strict=True)
        )
        if first != second:
            return (
                time_ns,
                _first_of(one, groups[0], first - second),
                _first_of(other, groups[1], second - first),
            )
        begins = [end for _begin, end in groups]


def _first_of(rows: Rows, group: Sequence[int], wanted: Counter[bytes]) -> int | None:
    """Return the last but as many rows of a key as are in excess, of the first such key."""
    begin, end = group
    for at in range(begin, end):
        key = rows[at].tobytes()
        if wanted[key]:
            there = [each for each in range(begin, end) if rows[each].tobytes() == key]
            return there[-wanted[key]]
    return None
