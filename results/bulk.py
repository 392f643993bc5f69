"""Reads small tables of many runs at once, compared with their checksums, before they are used.

A few queries for all runs take the place of several for each. Rows that are not what was stored
are not held here: then the run reads them by itself, and says what is wrong with them.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from orchestrator.errors import StoreError
from results import checksum, database
from results.checksum import Checksum
from results.model import RunRow
from results.stored import StoredRun

TABLES = ("runs", "flows", "queues", "metrics")
"""What the metrics of a run are read from."""

AT_ONCE = 200
"""Runs whose rows are in memory at a time."""


def load(
    connection: sqlite3.Connection, path: Path, rows: Sequence[tuple[int, RunRow]]
) -> dict[str, StoredRun]:
    """Return the runs of these keys and rows by id; they hold the rows that are what was stored."""
    runs = {key: StoredRun(connection, path, key, row) for key, row in rows}
    _hold_all(connection, runs)
    return {run.id: run for run in runs.values()}


def _hold_all(connection: sqlite3.Connection, runs: Mapping[int, StoredRun]) -> None:
    try:
        for table in TABLES:
            for schema, sums in _checksums(connection, table, list(runs)).items():
                _hold(connection, table, schema, sums, runs)
    except (*database.ERRORS, StoreError, TypeError):
        return  # each run reads the rest by itself, with an error that names the run


def _checksums(
    connection: sqlite3.Connection, table: str, keys: Sequence[int]
) -> dict[int, dict[int, Checksum]]:
    """Return the checksums of a table by schema and run."""
    found: dict[int, dict[int, Checksum]] = {}
    for key, schema, rows, sha256 in connection.execute(
        'SELECT run, schema, rows, sha256 FROM checksums WHERE "table" = ? '
        "AND run IN (SELECT value FROM json_each(?))",
        (table, json.dumps(keys)),
    ):
        found.setdefault(schema, {})[key] = Checksum(rows, sha256)
    return found


def _hold(
    connection: sqlite3.Connection,
    table: str,
    schema: int,
    sums: Mapping[int, Checksum],
    runs: Mapping[int, StoredRun],
) -> None:
    covered = checksum.covered(schema)[table]
    order = ", ".join(f'"{name}"' for name in covered)
    cursor = connection.execute(
        f"SELECT * FROM {table} WHERE run IN (SELECT value FROM json_each(?)) "
        f"ORDER BY run, {order}",
        (json.dumps(list(sums)),),
    )
    names = [column[0] for column in cursor.description]
    of_run, values = itemgetter(names.index("run")), itemgetter(*map(names.index, covered))
    by_run = {key: list(rows) for key, rows in itertools.groupby(cursor, of_run)}
    for key, expected in sums.items():
        rows = by_run.get(key, [])
        if checksum.of_rows(table, covered, list(map(values, rows))) == expected:
            runs[key].hold(table, names, rows)
