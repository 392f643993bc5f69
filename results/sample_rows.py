"""Reads samples of stores up to schema 11, which have a row for each sample.

NULL stands for a missing value there. It is read as the number in
:data:`results.samples.MISSING_VALUES`.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from results.samples import MISSING_VALUES, TABLES, Array, DamagedSamplesError

CHUNK_ROWS = 4096
"""Number of rows that are read at a time."""


def select(
    connection: sqlite3.Connection,
    table: str,
    key: Mapping[str, int],
    columns: Sequence[str],
    within_ns: tuple[int, int] | None,
) -> dict[str, Array]:
    """Return columns of the rows with that key, ``run`` included, in the order of time.

    Raises:
        DamagedSamplesError: a value is not of its type.
    """
    time = TABLES[table].time
    where = " AND ".join(f"{name} = ?" for name in key)
    parameters = list(key.values())
    if within_ns is not None:
        where += f" AND {time} BETWEEN ? AND ?"
        parameters += within_ns
    rows = connection.execute(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY {time}", parameters
    ).fetchall()
    values = zip(*rows, strict=True) if rows else iter([()] * len(columns))
    return {name: _array(name, column) for name, column in zip(columns, values, strict=True)}


def parts(
    connection: sqlite3.Connection,
    source: str,
    table: str,
    key: Mapping[str, Any],
    names: Sequence[str],
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Yield (key, rows x names) of parts of series, in order; a series may have several parts.

    Args:
        connection: an open store.
        source: the table's name in the file.
        table: its name in ``TABLES``.
        key: the values of some columns that the rows have, such as the run.
        names: the columns that are wanted.

    Raises:
        DamagedSamplesError: a value cannot have been stored.
    """
    _dtype, keys, time, unique = TABLES[table]
    words = [
        f"coalesce({name}, {MISSING_VALUES[name]})" if name in MISSING_VALUES else name
        for name in names
    ]
    never = (
        " + ".join(
            f"({name} IS {MISSING_VALUES[name]})" for name in names if name in MISSING_VALUES
        )
        or "0"
    )
    # Rows with equal times are in the order of insertion. Where times are unique, keys order them.
    ties = "" if unique else ", rowid"
    where = " AND ".join(f"{name} = ?" for name in key)
    cursor = connection.execute(
        f"SELECT {', '.join((*keys, never, *words))} FROM {source} WHERE {where} "
        f"ORDER BY {', '.join(keys)}, {time}{ties}",
        tuple(key.values()),
    )
    width = len(keys)
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        try:
            numbers = array("q", chain.from_iterable(chunk))
        except TypeError as error:  # a REAL, TEXT, BLOB or NULL
            raise DamagedSamplesError("a value cannot have been stored") from error
        rows = np.frombuffer(numbers, np.int64).reshape(len(chunk), -1)
        if bool(np.any(rows[:, width])):
            raise DamagedSamplesError("a value cannot have been stored")
        changes = np.flatnonzero(np.any(rows[1:, :width] != rows[:-1, :width], axis=1)) + 1
        for start, end in pairwise([0, *changes.tolist(), len(rows)]):
            yield tuple(rows[start, :width].tolist()), rows[start:end, width + 1 :]


def _array(name: str, values: Sequence[Any]) -> Array:
    """Return a stored column as an array; DamagedSamplesError when a value is not of its type."""
    try:
        if name in MISSING_VALUES:
            return np.array(values, np.float64)
        column = np.array(values) if values else np.empty(0, np.int64)
    except (TypeError, ValueError, OverflowError):
        column = np.empty(0, np.object_)
    if column.dtype != np.int64:
        raise DamagedSamplesError(f"a value of {name} is no number")
    return column
