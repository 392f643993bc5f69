"""Reads small tables of many runs at once, and compares the rows with their checksums.

A few queries for all runs take the place of several for each. A run gets its rows only if their
checksum is right. Otherwise it reads them itself when they are used, and says what is wrong.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from orchestrator.errors import StoreError
from results.records.model import RunRow
from results.schema import access_errors
from results.store.parts import checksum
from results.store.parts.checksum import Checksum
from results.store.stored import StoredRun

TABLES = ("runs", "flows", "queues", "metrics")
"""What the metrics of a run are read from."""

AT_ONCE = 200
"""Runs whose rows are in memory at a time."""

Sum = tuple[int, Checksum]
"""A checksum, and the schema whose columns it covers."""

Sums = Mapping[str, Sum]
"""The checksums of a run by table."""


def load(
    connection: sqlite3.Connection, path: Path, rows: Sequence[tuple[int, RunRow]]
) -> dict[str, StoredRun]:
    """Return the runs of these keys and rows by id, with their verified rows of TABLES."""
    runs = {key: StoredRun(connection, path, key, row) for key, row in rows}
    try:
        sums = checksums(connection, list(runs))
        for table in TABLES:
            give_verified_rows(connection, table, sums, runs)
    except (*access_errors.ERRORS, StoreError, TypeError):
        pass  # each run reads the rest by itself, with an error that names the run
    return {run.id: run for run in runs.values()}


def checksums(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, dict[str, Sum]]:
    """Return schema and checksum of the TABLES that have one, by run."""
    by_run: dict[int, dict[str, Sum]] = {}
    for key, table, schema, rows, sha256 in connection.execute(
        'SELECT run, "table", schema, rows, sha256 FROM checksums '
        "WHERE run IN (SELECT value FROM json_each(?)) "
        'AND "table" IN (SELECT value FROM json_each(?))',
        (json.dumps(keys), json.dumps(TABLES)),
    ):
        by_run.setdefault(key, {})[table] = (schema, Checksum(rows, sha256))
    return by_run


def give_verified_rows(
    connection: sqlite3.Connection,
    table: str,
    sums: Mapping[int, Sums],
    runs: Mapping[int, StoredRun],
) -> None:
    """Give the runs their rows of a table, if their checksums are right."""
    by_schema: dict[int, dict[int, Checksum]] = {}
    for key in runs:
        if table in sums.get(key, ()):
            schema, expected = sums[key][table]
            by_schema.setdefault(schema, {})[key] = expected
    for schema, expected_of in by_schema.items():
        _give_verified_rows(connection, table, schema, expected_of, runs)


def _give_verified_rows(
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
            runs[key].use_verified_rows(table, names, rows)
