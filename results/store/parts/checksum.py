"""Checksums of a run's rows: one SHA-256 for each table.

A checksum covers the columns that the table had in the schema that wrote it, but not the run's
key. So it stays valid after an ``ALTER TABLE ... ADD COLUMN`` and with another key. A migration
that changes values of finished runs must write new checksums.

Small tables (:data:`ROW_TABLES`) are hashed as JSON: the table's name, the covered columns sorted
by name, and the rows sorted by all of these columns. A BLOB is replaced by ``{"sha256": ...}``.

Sample tables (:data:`results.samples.sample_tables.TABLES`) have up to millions of rows, and most
columns are constant. Each series (all rows with the same flow, endpoint or queue) is hashed in the
order of time, in blocks of up to :data:`BLOCK_ROWS` rows. A block is a JSON line with the series'
key, the number of rows, the first row and the names of the columns that vary. Each of these columns
follows as little-endian 64-bit integers. A missing value is hashed as the number in
:data:`results.samples.sample_tables.MISSING_VALUES`. How samples are kept in the file does not
matter.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import StoreError
from results.samples import sample_blocks
from results.samples.sample_tables import TABLES
from results.schema import database
from results.schema.database import MIGRATIONS

ROW_TABLES = ("runs", "run_files", "flows", "queues", "checks", "provenance", "artefacts",
              "metrics", "evidence", "kept_files")  # fmt: skip
"""Tables with few rows a run, hashed row by row."""

ALL_TABLES = (*ROW_TABLES, *TABLES)
"""All tables that hold rows of a run."""

BLOCK_ROWS = 65536
"""Number of rows of a series that are hashed at a time."""


class Checksum(NamedTuple):
    """The number of a run's rows in a table, and their SHA-256 in hex."""

    rows: int
    sha256: str


@cache
def covered(schema: int, migrations: Path = MIGRATIONS) -> dict[str, tuple[str, ...]]:
    """Return the columns by table that a checksum of that schema covers, sorted by name.

    Tables that the schema does not have are left out.

    Raises:
        StoreError: there is no such schema version.
    """
    if not database.FIRST <= schema <= database.newest(migrations):
        raise StoreError(f"a checksum names schema {schema}, which this program does not know")
    connection = database.in_memory(schema, migrations)
    columns = {
        table: tuple(
            sorted(
                name
                for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
                if name != "run"
            )
        )
        for table in ALL_TABLES
    }
    connection.close()
    for table, names in sample_blocks.sample_columns(schema, migrations).items():
        if names:
            columns[table] = tuple(sorted([*TABLES[table].keys, *names]))
    return {table: names for table, names in columns.items() if names}


def read_rows(
    connection: sqlite3.Connection, table: str, run: int, columns: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return columns of a run's rows, sorted by all of them."""
    names = ", ".join(f'"{name}"' for name in columns)
    return connection.execute(
        f"SELECT {names} FROM {table} WHERE run = ? ORDER BY {names}", (run,)
    ).fetchall()


def of_rows(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Checksum:
    """Return the checksum of a small table's rows, which are sorted by all columns."""
    text = json.dumps([table, columns, rows], default=_blob, separators=(",", ":"))
    return Checksum(len(rows), hashlib.sha256(text.encode()).hexdigest())


class SamplesHash:
    """Hashes the samples of one table series by series, as they are written or read.

    ``columns`` are all that are covered, sorted by name.
    """

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        _dtype, keys, self._time, _unique = TABLES[table]
        self.names = [name for name in columns if name not in keys]
        self._hash = hashlib.sha256(_line([table, *self.names]))
        self._rows = 0

    def add_stored(
        self, key: Sequence[int], rows: npt.NDArray[np.void], varying: Collection[str]
    ) -> None:
        """Add a whole series that is being stored.

        ``varying`` has all columns that vary in it, and may have the time in any case.
        """
        columns = {name: rows[name] for name in self.names if name in varying}
        known = {name for name in columns if name != self._time and len(rows) <= BLOCK_ROWS}
        for start in range(0, len(rows), BLOCK_ROWS):
            part = {name: column[start : start + BLOCK_ROWS] for name, column in columns.items()}
            part = {
                name: column for name, column in part.items() if name in known or _varies(column)
            }
            first = dict(zip(rows.dtype.names or (), rows[start].item(), strict=True))
            count = min(BLOCK_ROWS, len(rows) - start)
            self._add(key, count, [first[name] for name in self.names], part)

    def add_block(self, key: Sequence[int], block: npt.NDArray[np.int64]) -> None:
        """Add a block of rows as they were read: a column for each of ``names``."""
        columns = zip(self.names, block.T, strict=True)
        varying = {name: column for name, column in columns if _varies(column)}
        self._add(key, len(block), block[0].tolist(), varying)

    def result(self) -> Checksum:
        """Return the checksum of all series added so far."""
        return Checksum(self._rows, self._hash.hexdigest())

    def _add(
        self,
        key: Sequence[int],
        count: int,
        first: list[int],
        varying: Mapping[str, npt.NDArray[Any]],
    ) -> None:
        self._rows += count
        self._hash.update(_line([list(key), count, first, list(varying)]))
        for column in varying.values():
            self._hash.update(np.ascontiguousarray(column, "<i8").data)


def of_samples(
    connection: sqlite3.Connection, table: str, run: int, columns: Sequence[str]
) -> Checksum:
    """Return the checksum of a run's stored samples; reads a few thousand rows at a time.

    Raises:
        StoreError: a value cannot have been stored.
    """
    total = SamplesHash(table, columns)
    previous: tuple[int, ...] | None = None
    parts: list[npt.NDArray[np.int64]] = []
    for key, part in sample_blocks.parts(connection, table, run, total.names):
        held = sum(map(len, parts))
        if previous is not None and (key != previous or held == BLOCK_ROWS):
            total.add_block(previous, np.concatenate(parts))
            parts, held = [], 0
        room = BLOCK_ROWS - held
        parts.append(part[:room])
        if len(part) > room:
            total.add_block(key, np.concatenate(parts))
            parts = [part[room:]]
        previous = key
    if previous is not None:
        total.add_block(previous, np.concatenate(parts))
    return total.result()


def seal(
    connection: sqlite3.Connection, run: int, samples: Mapping[str, Checksum], schema: int
) -> None:
    """Store the checksums of a run that has just ended, inside the caller's transaction.

    ``samples`` are the checksums of the sample tables that were written; the others are empty. Rows
    of small tables are read back, so that the content of the file is hashed.
    """
    columns = covered(schema)
    checksums = {
        table: of_rows(table, columns[table], read_rows(connection, table, run, columns[table]))
        for table in ROW_TABLES
    }
    for table in TABLES:
        checksums[table] = samples.get(table) or SamplesHash(table, columns[table]).result()
    connection.executemany(
        "INSERT INTO checksums VALUES (?, ?, ?, ?, ?)",
        [(run, table, schema, *checksum) for table, checksum in checksums.items()],
    )


def _varies(column: npt.NDArray[Any]) -> bool:
    return bool(np.any(column != column[0]))


def _blob(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    raise TypeError(f"SQLite does not hold {type(value).__name__}")


def _line(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"
