"""Packs the samples of a store up to schema 11 into blocks; the Python part of migration 12.

It runs inside the migration's transaction, and holds one block of rows in memory at a time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from results import blocks, sample_rows, sample_store
from results.samples import TABLES, DamagedSamplesError

Tell = Callable[[str], None]

EVERY_S = 5.0
"""Least time between two messages of progress."""


def apply(connection: sqlite3.Connection, tell: Tell) -> None:
    """Move the rows of the tables ``..._by_row`` into blocks, and drop these tables.

    A series with a value that cannot have been stored gets a block that is damaged, too.
    """
    for table in TABLES:
        source = f"{table}_by_row"
        last = _last_run(connection, source)
        told = time.monotonic()
        for run in _runs(connection, source):
            if time.monotonic() - told > EVERY_S:
                tell(f"packing {table} of run {run} of {last}")
                told = time.monotonic()
            _pack_run(connection, source, table, run)
        connection.execute(f"DROP TABLE {source}")


def _pack_run(connection: sqlite3.Connection, source: str, table: str, run: int) -> None:
    try:
        _pack(connection, source, table, {"run": run})
        return
    except (DamagedSamplesError, OverflowError):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    keys = TABLES[table].keys
    names = ", ".join(keys)
    series = connection.execute(
        f"SELECT {names}, count(*) FROM {source} WHERE run = ? GROUP BY {names}", (run,)
    ).fetchall()
    for *values, count in series:
        key = dict(zip(keys, values, strict=True))
        try:
            _pack(connection, source, table, {"run": run, **key})
        except (DamagedSamplesError, OverflowError):
            where = " AND ".join(f"{name} = ?" for name in key)
            connection.execute(f"DELETE FROM {table} WHERE run = ? AND {where}", (run, *values))
            damaged = sample_store.Block(table, tuple(values), 0, count, 0, 0, b"")
            sample_store.insert_block(connection, run, damaged)


def _pack(
    connection: sqlite3.Connection, source: str, table: str, where: Mapping[str, Any]
) -> None:
    """Store the rows of a run, or of one of its series, as blocks."""
    names = list(sample_store.sample_columns(sample_store.BLOCKS_SINCE)[table])
    rows = sample_rows.parts(connection, source, table, where, names)
    previous, part = None, 0
    for key, block in _cut(rows):
        part = part + 1 if key == previous else 0
        sample_store.write(connection, table, where["run"], key, part, list(block.T))
        previous = key


def _cut(
    parts: Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]],
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Yield each series in pieces of ``blocks.ROWS`` rows, the last one of fewer."""
    previous: tuple[int, ...] = ()
    held = np.empty((0, 0), np.int64)
    for key, part in parts:
        if key != previous and len(held):
            yield previous, held
            held = held[:0]
        previous, held = key, np.concatenate([held, part]) if len(held) else part
        while len(held) >= blocks.ROWS:
            yield key, held[: blocks.ROWS]
            held = held[blocks.ROWS :]
    if len(held):
        yield previous, held


def _runs(connection: sqlite3.Connection, source: str) -> Iterator[int]:
    """Yield the runs that have rows; the clustered key finds each without reading its rows."""
    (run,) = connection.execute(f"SELECT min(run) FROM {source}").fetchone()
    while run is not None:
        yield run
        (run,) = connection.execute(
            f"SELECT min(run) FROM {source} WHERE run > ?", (run,)
        ).fetchone()


def _last_run(connection: sqlite3.Connection, source: str) -> int | None:
    last: int | None = connection.execute(f"SELECT max(run) FROM {source}").fetchone()[0]
    return last
