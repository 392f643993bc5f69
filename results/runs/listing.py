"""Reads the list of runs: each as :class:`results.runs.model.ListedRun`.

A few queries read the rows of all runs at once. Metrics and flows are not compared with checksums.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from results.matrix.entries import entry_of
from results.metrics import METRICS
from results.records import columns, typed
from results.records.model import WHOLE, RunHead, RunRow, Values
from results.runs.model import ListedFlow, ListedRun
from results.schema.access_errors import reading
from results.store import run_rows
from results.store.parts import integrity
from results.store.parts.integrity import read_remarks
from results.store.parts.notes import Remarks
from results.store.store import Store

_CHOSEN = "run IN (SELECT value FROM json_each(?1))"


def read(
    store: Store,
    experiment: str | None = None,
    keys: Sequence[int] | None = None,
) -> list[ListedRun]:
    """Return the runs, oldest first.

    ``experiment`` keeps the runs of experiments of that name. ``keys`` keeps the runs with these
    keys of the table ``runs``, of all experiments.

    Raises:
        StoreError: the file cannot be read, or a value cannot have been stored.
    """
    connection, path = store.connection, store.path
    chosen = () if keys is None else (json.dumps(list(keys)),)
    if chosen:
        rows = run_rows.read(connection, path, _CHOSEN, *chosen)
    else:
        rows = run_rows.read(connection, path, "?1 IS NULL OR experiment = ?1", experiment)
    with reading(path):
        values, flows = _metrics(connection, chosen), _flows(connection, chosen)
        remarks = read_remarks(connection)
    return [
        _listed(row, values.get(key, {}), flows.get(key, []), remarks.get(row.id, Remarks()))
        for key, row in rows
    ]


def _listed(
    row: RunRow, values: Mapping[str, Values], flows: Sequence[ListedFlow], remarks: Remarks
) -> ListedRun:
    windows = {window.name: _complete(values.get(window.name, {})) for window in row.windows}
    return ListedRun(row, _complete(values.get(WHOLE, {})), windows, flows, remarks)


def _complete(known: Values) -> Values:
    """Return all metrics of a run; None of those that are not known."""
    return {name: known.get(name) for name, scope in METRICS if scope == "run"}


def _metrics(
    connection: sqlite3.Connection, chosen: tuple[str, ...]
) -> dict[int, dict[str, Values]]:
    """Return the metrics of runs themselves by key and window, of the chosen runs or of all.

    ``chosen`` is empty, or has the keys as one JSON array.
    """
    stored = connection.execute(
        'SELECT run, "window", name, value FROM metrics '
        f"WHERE flow IS NULL AND link IS NULL{f' AND {_CHOSEN}' if chosen else ''}",
        chosen,
    )
    by_run: dict[int, dict[str, Values]] = {}
    for key, window, name, value in stored:
        if not isinstance(value, int | float | None) or not isinstance(name, str):
            raise integrity.damaged(f"#{key}", f"table metrics: {name!r:.80} is {value!r:.80}")
        by_run.setdefault(key, {}).setdefault(window, {})[name] = value
    return by_run


def _flows(connection: sqlite3.Connection, chosen: tuple[str, ...]) -> dict[int, list[ListedFlow]]:
    """Return the flows of runs by key, of the chosen runs or of all; see :func:`_metrics`."""
    # The first flow of a run brings the scenario, from which the entries of all its flows follow.
    stored = connection.execute(
        "SELECT run, flows.name, traffic, congestion_control, CASE flow WHEN 0 THEN resolved END "
        "FROM flows JOIN runs USING (run) "
        f"{f'WHERE {_CHOSEN} ' if chosen else ''}ORDER BY run, flow",
        chosen,
    )
    by_run = itertools.groupby(stored, lambda row: row[0])
    return {key: _flows_of(key, [row[1:] for row in rows]) for key, rows in by_run}


def _flows_of(key: int, rows: Sequence[Sequence[Any]]) -> list[ListedFlow]:
    try:
        resolved = columns.read(RunHead, {"resolved": rows[0][3]})["resolved"]
        return [
            _flow(name, entry_of(name, traffic, resolved), control)
            for name, traffic, control, _ in rows
        ]
    except typed.DECODING_ERRORS as error:
        raise integrity.damaged(f"#{key}", f"table flows: {error}") from error


def _flow(name: str, entry: str, congestion_control: str | None) -> ListedFlow:
    """Return one flow; TypeError when the control cannot be that of one."""
    if not isinstance(congestion_control, str | None):
        raise TypeError(f"congestion_control is {congestion_control!r:.80}")
    return ListedFlow(name, entry, congestion_control)
