"""Tables of a stored trace as columns, with flows, places and events by their names."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports.trace_records import CA_STATES
from orchestrator.recording.trace import TABLES, Trace
from results.store.stored import StoredRun
from results.traces import names
from results.traces.own_variables import own_variables

Columns = dict[str, npt.NDArray[Any]]

TABLE_NAMES = tuple(TABLES)
"""The tables of a trace."""

_OF_ENDS = ("flow", "is_sender", "congestion")


def channel_names(run: StoredRun) -> list[str]:
    """Return the names of channels by their numbers in traces, such as ``bottleneck:forward``."""
    return [
        f"{link.name}:{direction}"
        for link in run.head.links
        for direction in ("forward", "reverse")
    ]


def columns(run: StoredRun, trace: Trace, table: str) -> Columns:
    """Return a table of a trace as arrays by names; its own columns keep theirs.

    Added are ``flow_name``, ``channel_name``, ``step_name``, ``event``, ``ca_state_name``,
    ``is_sender`` and ``congestion`` where the table can have them, and to ``acks`` the congestion
    controls' own variables (own_variables.py). Addresses are texts.

    Raises:
        KeyError: a trace has no such table.
    """
    rows = trace.tables[table]
    made: Columns = {name: rows[name] for name in rows.dtype.names or ()}
    if "end" in made and table != "ends":
        made |= _of_ends(trace, made["end"])
    if table == "acks":
        made |= own_variables(rows, made["congestion"])
    if "flow" in made:
        made["flow_name"] = named(made["flow"], [flow.name for flow in run.flows])
    if "channel" in made:
        made["channel_name"] = named(made["channel"], channel_names(run))
    if "step" in made:
        made["step_name"] = _looked_up(made["step"], names.STEPS)
    if "what" in made:
        made["event"] = _looked_up(made["what"], names.EVENTS)
    if "ca_state" in made:
        made["ca_state_name"] = named(made["ca_state"], CA_STATES)
    for name, column in made.items():
        if column.dtype.kind == "S":
            made[name] = np.array([value.decode("ascii", "replace") for value in column], object)
        elif name.endswith("address"):
            made[name] = _addresses(column)
    return made


def _of_ends(trace: Trace, ends: npt.NDArray[Any]) -> Columns:
    """Return flow, role and congestion control of the end of a connection of each row."""
    known = trace.tables["ends"]
    order = np.argsort(known["end"])
    if not len(known):
        return {name: np.empty(0, known.dtype[name]) for name in _OF_ENDS}
    found = order[np.searchsorted(known["end"], ends, sorter=order)]
    return {name: known[name][found] for name in _OF_ENDS}


def named(numbers: npt.NDArray[Any], known: Sequence[str]) -> npt.NDArray[Any]:
    """Return names by numbers; an empty one for a number that has none."""
    table = np.array([*known, ""], object)
    valid = (numbers >= 0) & (numbers < len(known))
    return table[np.where(valid, numbers, len(known)).astype(np.int64)]


def _looked_up(numbers: npt.NDArray[Any], known: Mapping[int, str]) -> npt.NDArray[Any]:
    return named(numbers, [known.get(number, "") for number in range(max(known) + 1)])


def _addresses(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    unique, which = np.unique(numbers, return_inverse=True)
    texts = [socket.inet_ntoa(int(number).to_bytes(4, "little")) for number in unique]
    return np.array([*texts, ""], object)[which]
