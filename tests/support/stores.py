"""A store with real runs of a real guest, made from the rows in tests/data/stores/runs.sql.

It has two runs of :data:`TINY`, one of TCP by iperf3, UDP and transfers over a rate that changes,
and one that was interrupted. Two runs have tags, the first one has notes, and one run was removed.

The file has the rows only. The schema is the program's own, and the checksums are computed again.
So a column that is added to the schema needs a default, or its values in the file. A metric that
is not in the file is computed.
:func:`rows_of` writes the file from a store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from results import metrics
from results.samples.sample_tables import TABLES
from results.schema import database
from results.store.parts import checksum
from results.store.parts.judgements import Judgement
from results.store.store import Store
from results.store.stored import StoredRun

ROWS = Path(__file__).parents[1] / "data" / "stores" / "runs.sql"

TINY = """\
version: 1
name: tiny
description: Two small runs.
seed: 1
duration: 1s
warmup: 200ms
start_jitter: 5ms
topology:
  kind: dumbbell
  bottleneck: {rate: 2mbit, delay: 5ms, queue: {kind: droptail, limit: 20p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 5ms}}
flows:
  - {name: one, group: a, congestion: reno, traffic: {kind: bulk}}
  - {name: two, group: a, congestion: cubic, traffic: {kind: bulk}, start: 100ms}
measure: [{name: late, from: 500ms, to: 1s}]
repetitions: 2
sample: {tcp: 500ms, queue: 500ms}
"""
"""What the first two runs are of."""

_MADE = ("migrations", "sample_columns", "checksums")
"""Tables that the program fills by itself."""


def restore(path: Path) -> Path:
    """Write the store to a file, and return its path."""
    path.write_bytes(_store())
    return path


@cache
def _store() -> bytes:
    """Return the content of the store's file. To make it takes a second."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "runs.db")
        _make(path)
        return path.read_bytes()


def _make(path: Path) -> None:
    with closing(database.open_writable(path)) as connection, database.transaction(connection):
        for statement in database._statements(ROWS.read_text(encoding="utf-8")):
            connection.execute(statement)
        _seal(connection)
    with Store.open_read_only(path) as store:
        later = [row for run in store.list_runs() for row in _later_metrics(store.load(run.id))]
    with closing(database.open_writable(path)) as connection, database.transaction(connection):
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", later)
        connection.execute("DELETE FROM checksums")
        _seal(connection)
    with closing(database.open_writable(path)) as connection:
        connection.execute("VACUUM")  # so that no page of the file is free


def _seal(connection: sqlite3.Connection) -> None:
    schema = database.newest()
    columns = checksum.covered(schema)
    for (key,) in connection.execute("SELECT run FROM runs").fetchall():
        sums = {
            table: checksum.of_samples(connection, table, key, columns[table]) for table in TABLES
        }
        checksum.seal(connection, key, sums, schema)


def _later_metrics(run: StoredRun) -> list[tuple[object, ...]]:
    """Return the rows of metrics that the file does not have."""
    there = {row[:4] for row in run.raw("metrics", ("window", "flow", "link", "name"))}
    found: list[tuple[object, ...]] = []
    for window, values in (metrics.compute(run) if there else {}).items():
        scopes = [
            (None, None, values.run),
            *((flow, None, each) for flow, each in enumerate(values.flows)),
            *((None, link, each) for link, each in values.links.items()),
        ]
        found += [
            (run._key, window, flow, link, name, value)
            for flow, link, each in scopes
            for name, value in each.items()
            if (window, flow, link, name) not in there
        ]
    return found


def restore_judged(path: Path) -> Path:
    """Make the store with two more judgements of each run that ended ok, and return its path."""
    with Store(restore(path)) as store:
        for row in store.list_runs():
            if row.status == "ok":
                own = store.load(row.id).judgements[0]
                for version in ("earlier", "later"):
                    again = Judgement(own.verdict, own.checks, version, database.utc_now())
                    store.add_judgement(row.id, again)
    return path


def rows_of(path: Path) -> Iterator[str]:
    """Yield the text of tests/data/stores/runs.sql for the runs of a store."""
    yield "-- Rows of a store with real runs of a real guest; see tests/support/stores.py.\n"
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name <> 'runs', name"
        ).fetchall()
        for (table,) in tables:
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            names = [f'"{name}"' for (name,) in columns]
            quoted = ", ".join(f"quote({name})" for name in names)
            rows = connection.execute(f"SELECT {quoted} FROM {table}").fetchall()
            if rows and table not in _MADE:
                values = ",\n".join(f"({', '.join(row)})" for row in rows)
                yield f"\nINSERT INTO {table} ({', '.join(names)}) VALUES\n{values};\n"


def dump(path: Path) -> str:
    """Return a store as SQL text that recreates it, including the numbers in its header."""
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    pragmas = [
        f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};"
        for name in ("application_id", "user_version")
    ]
    connection.close()
    return "\n".join([*pragmas, *lines]) + "\n"
