"""Traces of two runs as tables whose rows can be compared.

What chance sets alike for each run is left out: IP's identification and the ports. In their place a
row has the number of its connection among those of its flow. Sequence numbers are relative to the
first one of their end, as analysers of captures show them. Private data of a congestion control
without ``get_info`` are left out, too, unless they are known: there may be addresses in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import ACKS_DTYPE, DROPS_DTYPE, EVENTS_DTYPE, LINKS_DTYPE, Trace
from results.traces.own_variables import known_state

Rows = npt.NDArray[np.void]
Integers = npt.NDArray[np.int64]

NEEDED_TABLES = ("ends", "acks", "events", "links", "drops")
"""The tables of a trace that are compared, and that of the ends of its connections."""

_CHANCE = {"source_address", "sink_address", "source_port", "sink_port", "ip_id", "end"}
_CONNECTION = ("connection", "i8")
_OF_END = [("flow", "i4"), ("is_sender", "u1"), _CONNECTION]


def _without(dtype: np.dtype[np.void], more: list[tuple[str, str]]) -> np.dtype[np.void]:
    """Return a row's type without what chance sets, with more columns behind its time."""
    kept = [(name, dtype[name].str) for name in dtype.names or () if name not in _CHANCE]
    return np.dtype([kept[0], *more, *kept[1:]])


COMPARED = {
    "drops": _without(DROPS_DTYPE, [_CONNECTION]),
    "events": _without(EVENTS_DTYPE, _OF_END),
    "acks": _without(ACKS_DTYPE, _OF_END),
    "links": _without(LINKS_DTYPE, [_CONNECTION]),
}
"""The types of comparable rows, by table."""

TCP, _HAS_ACK = 6, 16
"""The protocol's number, and a flag of TCP."""

_WITH_SEQUENCES = (records.CA_STATE, records.RETRANSMIT, records.TIMER)
"""Events that tell of sequence numbers."""


@dataclass
class Connections:
    """What is known of the connections of a run.

    An end is (address and port of its own, those of its peer). ``first`` has the first sequence
    number of each end, and ``numbers`` counts the connections of each flow from 0 on. Traces of one
    run that follow each other share it. ``private`` has the congestion control of each flow whose
    private data are compared, one of ``WITH_KNOWN_STATE``.
    """

    private: Mapping[int, bytes] = field(default_factory=dict)
    first: dict[tuple[int, int], int] = field(default_factory=dict)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=dict)

    def number(self, end: tuple[int, int], flow: int) -> int:
        """Return the number of an end's connection within its flow."""
        if end not in self.numbers:
            count = self._counts[flow] = self._counts.get(flow, -1) + 1
            self.numbers[end] = self.numbers[end[::-1]] = count
        return self.numbers[end]

    def begin(self, end: tuple[int, int], sequence: int) -> None:
        """Take a sequence number as an end's first one, unless one is known."""
        self.first.setdefault(end, sequence)


class _Packets:
    """The ends that sent the packets of a table, each once, and which of them each row is of."""

    def __init__(self, rows: Rows) -> None:
        sources, source = _endpoints(rows, "source")
        sinks, sink = _endpoints(rows, "sink")
        pairs, self.first_row, self.of_row = np.unique(
            source * max(len(sinks), 1) + sink, return_index=True, return_inverse=True
        )
        self.ends = [
            (int(sources[pair // len(sinks)]), int(sinks[pair % len(sinks)]))
            for pair in pairs.tolist()
        ]

    def in_order(self) -> list[int]:
        """Return the numbers of the ends in the order in which they sent first."""
        return [int(number) for number in np.argsort(self.first_row, kind="stable")]


def _endpoints(rows: Rows, side: str) -> tuple[Integers, Integers]:
    """Return addresses with ports, each once, and which of them each row has."""
    endpoints = rows[f"{side}_address"].astype(np.int64) << 16 | rows[f"{side}_port"]
    unique, which = np.unique(endpoints, return_inverse=True)
    return unique, which.ravel()


def comparable(trace: Trace, connections: Connections) -> dict[str, Rows]:
    """Return the rows of COMPARED of a trace, in their order; ``connections`` learns of new ones.

    The trace has NEEDED_TABLES, and its rows are sound (``orchestrator.recording.trace_ranges``).
    """
    tables = trace.tables
    packets = {name: _Packets(tables[name]) for name in ("links", "drops")}
    for name, of_table in packets.items():
        rows = tables[name]
        for number in of_table.in_order():
            row = rows[of_table.first_row[number]]
            connections.number(of_table.ends[number], int(row["flow"]))
            connections.begin(of_table.ends[number], int(row["seq"]))
    ends = _ends(tables, connections)
    return {
        "drops": _of_packets(tables["drops"], packets["drops"], "drops", connections),
        "events": _events(tables["events"], ends, connections),
        "acks": _acks(tables["acks"], ends, connections),
        "links": _of_packets(tables["links"], packets["links"], "links", connections),
    }


def _copied(rows: Rows, table: str) -> Rows:
    made = np.zeros(len(rows), COMPARED[table])
    there = set(rows.dtype.names or ())
    for name in made.dtype.names or ():
        if name in there:
            made[name] = rows[name]
    return made


def _relative(numbers: npt.NDArray[Any], first: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return sequence numbers since the first ones, modulo 2^32."""
    return np.asarray((numbers.astype(np.int64) - first) % 2**32, np.uint32)


def _of_packets(rows: Rows, packets: _Packets, table: str, connections: Connections) -> Rows:
    made = _copied(rows, table)
    if not len(rows):
        return made
    own = np.array([connections.first[end] for end in packets.ends])
    peer = np.array([connections.first.get(end[::-1], 0) for end in packets.ends])
    numbers = np.array([connections.numbers[end] for end in packets.ends])
    made["connection"] = numbers[packets.of_row]
    is_tcp = rows["protocol"] == TCP
    has_ack = is_tcp & (rows["tcp_flags"] & _HAS_ACK > 0)
    seq = _relative(rows["seq"], own[packets.of_row])
    ack_seq = _relative(rows["ack_seq"], peer[packets.of_row])
    made["seq"], made["ack_seq"] = np.where(is_tcp, seq, 0), np.where(has_ack, ack_seq, 0)
    return made


@dataclass(frozen=True)
class _Ends:
    """The ends of a trace's table: rows in the order of their numbers, and their addresses."""

    rows: Rows
    ends: list[tuple[int, int]]

    def of(self, numbers: npt.NDArray[Any]) -> Integers:
        """Return which row each number is of."""
        return np.searchsorted(self.rows["end"], numbers)

    def columns(self, made: Rows, which: Integers, connections: Connections) -> None:
        """Fill in the columns of _OF_END."""
        made["flow"] = self.rows["flow"][which]
        made["is_sender"] = self.rows["is_sender"][which]
        made["connection"] = np.array([connections.numbers[end] for end in self.ends])[which]

    def first(self, which: Integers, connections: Connections, peer: bool = False) -> Integers:
        """Return the first sequence number of the end of each row, or of its peer."""
        known = [connections.first.get(end[::-1] if peer else end, 0) for end in self.ends]
        return np.array(known, np.int64)[which]


def _ends(tables: Mapping[str, Rows], connections: Connections) -> _Ends:
    table = tables["ends"]
    own = (table["address"].astype(np.int64) << 16 | table["port"]).tolist()
    peers = (table["peer_address"].astype(np.int64) << 16 | table["peer_port"]).tolist()
    for number, end in enumerate(zip(own, peers, strict=True)):
        connections.number(end, int(table["flow"][number]))
    order = np.argsort(table["end"])
    made = _Ends(table[order], [(own[at], peers[at]) for at in order.tolist()])
    # Where no packet was traced, a state has the first sequence number that is known.
    acks = tables["acks"]
    which = made.of(acks["end"])
    for at, first_row in zip(*np.unique(which, return_index=True), strict=True):
        row = acks[first_row]
        connections.begin(made.ends[at], int(row["snd_una"]))
        if int(row["by"]) == records.BY_SEGMENT:
            connections.begin(made.ends[at][::-1], int(row["seq"]))
    return made


def _acks(rows: Rows, ends: _Ends, connections: Connections) -> Rows:
    made = _copied(rows, "acks")
    if not len(rows):
        return made
    which = ends.of(rows["end"])
    ends.columns(made, which, connections)
    own = ends.first(which, connections)
    peer = ends.first(which, connections, peer=True)
    by_segment = rows["by"] == records.BY_SEGMENT
    for name, first in (("seq", peer), ("end_seq", peer), ("ack_seq", own)):
        made[name] = np.where(by_segment, _relative(rows[name], first), 0)
    for name in ("snd_una", "snd_nxt"):
        made[name] = _relative(rows[name], own)
    unknown = rows["info_kind"] == 0
    for flow, algorithm in connections.private.items():
        its = unknown & (made["flow"] == flow)
        made["info"][its] = known_state(rows["info"][its], algorithm)
        unknown &= ~its
    made["info"][unknown] = bytes(records.CA_INFO_BYTES)
    return made


def _events(rows: Rows, ends: _Ends, connections: Connections) -> Rows:
    made = _copied(rows, "events")
    if not len(rows):
        return made
    which = ends.of(rows["end"])
    ends.columns(made, which, connections)
    own = ends.first(which, connections)
    with_sequences = np.isin(rows["what"], _WITH_SEQUENCES)
    for name in ("seq", "end_seq"):
        made[name] = np.where(with_sequences, _relative(rows[name], own), rows[name])
    return made
