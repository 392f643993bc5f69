"""Connections of Multipath TCP in a run's provenance: their subflows, and counters at edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.protocol.reports.multipath_facts import COUNTERS

PROVENANCE = "multipath"
"""The key of a run's provenance that has the connections."""

_MOST = 2**63


@dataclass(frozen=True)
class Connection:
    """A connection: the names of its subflows' flows, and what both ends counted at which time.

    Each row of ``sender`` and of ``receiver`` has COUNTERS at one of ``times_ns``, which rise.
    """

    subflows: tuple[str, ...]
    times_ns: tuple[int, ...]
    sender: tuple[tuple[int, ...], ...]
    receiver: tuple[tuple[int, ...], ...]

    def at(self, end: str, counter: str, time_ns: int) -> int | None:
        """Return a counter of "sender" or "receiver" at a time; None where none was read then."""
        if time_ns not in self.times_ns:
            return None
        rows = self.sender if end == "sender" else self.receiver
        return rows[self.times_ns.index(time_ns)][COUNTERS.index(counter)]


def document(connections: Mapping[str, Connection]) -> dict[str, Any]:
    """Return connections by name, JSON-ready, as :func:`of_provenance` reads them."""
    return {name: vars(connection) for name, connection in connections.items()}


def of_provenance(provenance: Mapping[str, Any]) -> dict[str, Connection]:
    """Return the connections by the names of the flows that are their subflows.

    Raises:
        ValueError: they have another form.
    """
    known = provenance.get(PROVENANCE, {})
    _require(isinstance(known, Mapping))
    connections = [_connection(form) for form in known.values()]
    return {name: connection for connection in connections for name in connection.subflows}


def _connection(form: object) -> Connection:
    _require(isinstance(form, Mapping))
    assert isinstance(form, Mapping), "or it was refused"
    _require(set(form) == {"subflows", "times_ns", "sender", "receiver"})
    _require(all(isinstance(part, list | tuple) for part in form.values()))
    times_ns, rows = form["times_ns"], [*form["sender"], *form["receiver"]]
    _require(all(isinstance(name, str) for name in form["subflows"]))
    _require(len(form["sender"]) == len(form["receiver"]) == len(times_ns))
    _require(all(isinstance(row, list | tuple) and len(row) == len(COUNTERS) for row in rows))
    numbers = [*times_ns, *(value for row in rows for value in row)]
    _require(all(type(number) is int and 0 <= number < _MOST for number in numbers))
    return Connection(
        tuple(form["subflows"]),
        tuple(times_ns),
        tuple(map(tuple, form["sender"])),
        tuple(map(tuple, form["receiver"])),
    )


def _require(fine: bool) -> None:
    if not fine:
        raise ValueError(f"{PROVENANCE}: a connection has another form")
