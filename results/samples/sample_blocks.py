"""Writes samples into the store as blocks, and reads columns back.

A series (one end of a flow, or one queue) is cut into blocks of :data:`results.samples.blocks.ROWS`
rows. Each is a row of the series' table with the times of its first and last sample. So a window of
time is read without unpacking the other blocks, and a column without the other columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from results.samples import blocks
from results.samples.sample_tables import (
    MISSING_VALUES,
    TABLES,
    Array,
    DamagedSamplesError,
    SampleSeries,
)
from results.schema import database
from results.schema.database import MIGRATIONS

MOST_ROWS = 2**26
"""More rows of a series are not read: a column would take 512 MiB."""

OnStored = Callable[[tuple[int, ...], npt.NDArray[np.void], Sequence[str]], None]
"""Called with the key, the rows and the columns that are not constant of each series stored."""


class Block(NamedTuple):
    """A stored block: its table, the key of its series, its number there, its rows and times."""

    table: str
    key: tuple[int, ...]
    part: int
    rows: int
    first_ns: int
    last_ns: int
    content: bytes

    def label(self) -> bytes:
        """Return what :mod:`results.samples.blocks` calls a label. The run's key may change."""
        return repr((self.table, *self[1:6])).encode()

    def columns(self, names: Sequence[str]) -> Iterator[npt.NDArray[np.int64]]:
        """Yield columns, unpacked.

        Raises:
            DamagedSamplesError: the block is not what was stored.
        """
        known = sample_columns()[self.table]
        positions = [list(known).index(name) for name in names]
        try:
            unpacked = blocks.unpack(self.content, self.label(), self.rows, positions)
            for name, values in zip(names, unpacked, strict=True):
                yield np.full(self.rows, known[name]) if values is None else values
        except blocks.DamagedBlockError as error:
            keys = zip(TABLES[self.table].keys, self.key, strict=True)
            series = ", ".join(f"{name} {value}" for name, value in keys)
            raise DamagedSamplesError(f"block {self.part} of {series}: {error}") from error


@cache
def sample_columns(
    schema: int | None = None, migrations: Path = MIGRATIONS
) -> dict[str, dict[str, int]]:
    """Return the columns of blocks by table, in order, each with its value where a block lacks it.

    ``schema`` None is the newest one.
    """
    version = database.newest(migrations) if schema is None else schema
    with closing(database.in_memory(version, migrations)) as connection:
        rows = connection.execute(
            'SELECT "table", name, missing FROM sample_columns ORDER BY "table", position'
        ).fetchall()
    return {
        table: {name: missing for owner, name, missing in rows if owner == table}
        for table in TABLES
    }


def insert(
    connection: sqlite3.Connection, run: int, series: SampleSeries, on_stored: OnStored
) -> None:
    """Store every row of the series under the run, and call ``written`` for each of them."""
    names = sample_columns()[series.table]
    for key in series:
        rows = series.rows(key)
        for part, start in enumerate(range(0, len(rows), blocks.ROWS)):
            some = rows[start : start + blocks.ROWS]
            write(connection, series.table, run, key, part, [some[name] for name in names])
        varying = [name for name in series.names if bool(np.any(rows[name] != rows[name][0]))]
        on_stored(key, rows, varying)


def write(
    connection: sqlite3.Connection,
    table: str,
    run: int,
    key: tuple[int, ...],
    part: int,
    columns: Sequence[npt.NDArray[Any]],
) -> None:
    """Store a block of up to ``blocks.ROWS`` rows, its columns as :func:`sample_columns` says."""
    time = columns[list(sample_columns()[table]).index(TABLES[table].time)]
    block = Block(table, key, part, len(time), int(time[0]), int(time[-1]), b"")
    insert_block(connection, run, block._replace(content=blocks.pack(columns, block.label())))


def insert_block(connection: sqlite3.Connection, run: int, block: Block) -> None:
    """Store a block as it is."""
    values = (run, *block.key, *block[2:])
    connection.execute(f"INSERT INTO {block.table} VALUES ({', '.join('?' * len(values))})", values)


def select(
    connection: sqlite3.Connection,
    table: str,
    run: int,
    key: Mapping[str, int],
    columns: Sequence[str],
    within_ns: tuple[int, int] | None = None,
) -> dict[str, Array]:
    """Return columns of a series in the order of time, both ends of ``within_ns`` included.

    Raises:
        DamagedSamplesError: the rows are not what was stored.
        UsageError: the table has no such column.
    """
    known = TABLES[table].dtype.names or ()
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise UsageError(f"no column {', '.join(unknown)}; there are {', '.join(known)}")
    time = TABLES[table].time
    wanted = [name for name in dict.fromkeys([time, *columns]) if name not in key]
    found: dict[str, list[npt.NDArray[np.int64]]] = {name: [] for name in wanted}
    for block in _blocks(connection, table, {"run": run, **key}, within_ns):
        shown = slice(None)
        for name, values in zip(wanted, block.columns(wanted), strict=True):
            if name == time and within_ns is not None:
                shown = _within(values, within_ns)
            found[name].append(values[shown])
    length = sum(map(len, found[time]))
    return {
        name: np.full(length, key[name]) if name in key else _joined(name, found[name])
        for name in columns
    }


def parts(
    connection: sqlite3.Connection, table: str, run: int, names: Sequence[str]
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Yield (key, rows x names) of parts of a run's series, in order; none is large.

    Raises:
        DamagedSamplesError: the rows are not what was stored.
    """
    known = sample_columns()[table]
    if unknown := [name for name in names if name not in known]:
        raise DamagedSamplesError(f"blocks have no column {', '.join(unknown)}")
    for block in _blocks(connection, table, {"run": run}):
        yield block.key, np.column_stack(list(block.columns(names)))


def _blocks(
    connection: sqlite3.Connection,
    table: str,
    where: Mapping[str, int],
    within_ns: tuple[int, int] | None = None,
) -> Iterator[Block]:
    """Yield blocks by series and part, those that overlap a window of time if there is one."""
    keys = TABLES[table].keys
    words = [f"{name} = ?" for name in where]
    parameters = list(where.values())
    if within_ns is not None:
        words += ["last_ns >= ?", "first_ns <= ?"]
        parameters += within_ns
    total, series = 0, None
    for row in connection.execute(
        f"SELECT {', '.join(keys)}, part, rows, first_ns, last_ns, block FROM {table} "
        f"WHERE {' AND '.join(words)} ORDER BY {', '.join(keys)}, part",
        parameters,
    ):
        *key, part, rows, first_ns, last_ns, content = row
        block = Block(table, tuple(key), part, rows, first_ns, last_ns, content)
        if not all(type(number) is int for number in row[:-1]):
            raise DamagedSamplesError("a number of a block is none")
        total = block.rows if block.key != series else total + block.rows
        series = block.key
        if total > MOST_ROWS:
            raise DamagedSamplesError(f"a series has {total} rows; {MOST_ROWS} at most are read")
        yield block


def _within(times: npt.NDArray[np.int64], within_ns: tuple[int, int]) -> slice:
    first, last = within_ns
    return slice(
        int(np.searchsorted(times, first, side="left")),
        int(np.searchsorted(times, last, side="right")),
    )


def _joined(name: str, parts: Sequence[npt.NDArray[np.int64]]) -> Array:
    values: Array = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return (
        np.where(values == MISSING_VALUES[name], np.nan, values)
        if name in MISSING_VALUES
        else values
    )
