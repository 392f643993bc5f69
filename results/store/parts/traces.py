"""Stores and reads traces of runs: what happened to packets and connections in a window.

A trace is made by making a run again, so it comes after the run has ended. It is no part of the run
and not covered by its checksums. Each row has a SHA-256 of its own, which shows damage to it.

The columns of a table are stored one after the other, each as the differences of its values, and
are compressed together.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import StoreError
from orchestrator.files.inflating import inflated
from orchestrator.protocol.reports.trace_records import MOST_LIMIT_BYTES, MOST_SNAP_BYTES, WANTED
from orchestrator.recording.trace import TABLES, Capture, Trace
from results.records import typed
from results.schema.database import is_moment, utc_now
from results.store.parts.notes import sha256

SINCE_SCHEMA = 14
"""The first schema that has traces."""

VERSION = 1
"""Version of the columns of the tables in orchestrator/recording/trace.py."""

FRAME_BYTES = "frame_bytes"
"""The name under which the bytes of frames are stored."""

_LATER = "hosts"
"""The table that the first traces of this version have not."""

_HEAD = (
    "number, traced_utc, version, from_ns, to_ns, kinds, limit_bytes, snap_bytes, flows, links, "
    "full_ns, sha256"
)
_MOST_TIME_NS = 2**62
_MOST_GROWTH = 2
"""A table has at most so many times the bytes of the records of which it is made: 37 of 32."""


@dataclass(frozen=True)
class TraceHead:
    """What a stored trace is of.

    ``number`` counts the traces of a run from 1 on, ``rows`` are those of each table, and
    ``stored_bytes`` is what the trace takes in the file. ``full_ns`` is when the limit was reached.
    """

    number: int
    traced_utc: str
    capture: Capture
    full_ns: int | None
    rows: dict[str, int]
    stored_bytes: int


def insert(connection: sqlite3.Connection, run: int, run_id: str, trace: Trace) -> int:
    """Add a trace of a run, inside the caller's transaction; return its number."""
    (last,) = connection.execute("SELECT max(number) FROM traces WHERE run = ?", (run,)).fetchone()
    capture = trace.capture
    number = int(last or 0) + 1
    head = (
        number,
        utc_now(),
        VERSION,
        capture.from_ns,
        capture.to_ns,
        json.dumps(sorted(capture.kinds)),
        capture.limit_bytes,
        capture.snap_bytes,
        json.dumps(capture.flows),
        json.dumps(capture.links),
        trace.full_ns,
    )
    connection.execute(
        f"INSERT INTO traces (run, {_HEAD}) VALUES ({', '.join('?' * 13)})",
        (run, *head, sha256(run_id, *head)),
    )
    parts = [(name, len(rows), _columns(rows)) for name, rows in trace.tables.items()]
    parts.append((FRAME_BYTES, len(trace.frame_bytes), trace.frame_bytes))
    for name, rows, data in parts:
        values = (number, name, rows, len(data))
        content = zlib.compress(data)
        connection.execute(
            "INSERT INTO trace_tables VALUES (?, ?, ?, ?, ?, ?, ?)",
            (run, *values, content, _content_sha256(run_id, values, content)),
        )
    return number


def heads(connection: sqlite3.Connection, run: int, run_id: str) -> list[TraceHead]:
    """Return what the traces of a run are of, oldest first.

    Raises:
        StoreError: a row is not what was stored.
    """
    return [_head(connection, run, run_id, row)[0] for row in _rows(connection, run)]


def read(
    connection: sqlite3.Connection, run: int, run_id: str, number: int, names: Sequence[str] = ()
) -> Trace:
    """Return a trace of a run, with the tables of these names, or with all of them.

    Raises:
        StoreError: it is not there, not what was stored, or of another version.
    """
    found = [_head(connection, run, run_id, row) for row in _rows(connection, run)]
    one = next((each for each in found if each[0].number == number), None)
    if one is None:
        raise StoreError(f"run {run_id} has no trace {number}")
    head, version = one
    if version != VERSION:
        raise StoreError(
            f"run {run_id}: trace {number} has version {version}, and this program reads version "
            f"{VERSION}\n  fix: make another one with `orchestrator zoom`"
        )
    wanted = [
        name for name in names or (*TABLES, FRAME_BYTES) if name in head.rows or name != _LATER
    ]
    most_bytes = _MOST_GROWTH * head.capture.limit_bytes
    try:
        contents = {
            name: _content(connection, run, run_id, number, name, most_bytes) for name in wanted
        }
        frame_bytes = contents.pop(FRAME_BYTES, (0, b""))[1]
        tables = {name: _table(name, *content) for name, content in contents.items()}
        if _LATER not in head.rows:
            tables[_LATER] = np.empty(0, TABLES[_LATER])
    except ValueError as error:
        raise _damaged(run_id, f"trace_tables: {error}") from error
    return Trace(head.capture, tables, frame_bytes, head.full_ns)


def remove(connection: sqlite3.Connection, run: int) -> None:
    """Remove all traces of a run, inside the caller's transaction."""
    for table in ("trace_tables", "traces"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with each trace that is not what was stored.

    Whether its values can be those of a trace is seen when it is read.
    """
    runs = connection.execute(
        "SELECT DISTINCT traces.run, id FROM traces JOIN runs USING (run) ORDER BY 1"
    ).fetchall()
    for run, run_id in runs:
        for row in _rows(connection, run):
            try:
                _require_stored(run_id, row)
                for name in _sizes(connection, run, run_id, row):
                    _stored(connection, run, run_id, row[0], name)
            except StoreError as error:
                yield str(error)
            except ValueError as error:
                yield str(_damaged(run_id, f"trace_tables: {error}"))
    lost = connection.execute(
        "SELECT DISTINCT number, id FROM trace_tables JOIN runs USING (run) "
        "WHERE (trace_tables.run, number) NOT IN (SELECT run, number FROM traces) ORDER BY 2, 1"
    )
    for number, run_id in lost.fetchall():
        yield str(_damaged(run_id, f"traces: number {number!r:.20} is missing"))


def _damaged(run_id: str, what: str) -> StoreError:
    return StoreError(
        f"run {run_id} has a damaged trace: table {what}; `orchestrator doctor --store` lists all "
        "damage; put back a copy of the file"
    )


def _rows(connection: sqlite3.Connection, run: int) -> list[tuple[Any, ...]]:
    """Return the rows of ``traces`` of a run: the columns of ``_HEAD``, oldest first."""
    return connection.execute(
        f"SELECT {_HEAD} FROM traces WHERE run = ? ORDER BY number", (run,)
    ).fetchall()


def _require_stored(run_id: str, row: tuple[Any, ...]) -> None:
    """Raise StoreError when a row of ``traces`` is not what was stored."""
    if row[-1] != sha256(run_id, *row[:-1]):
        raise _damaged(run_id, f"traces: number {row[0]!r:.20} is not what was stored")


def _sizes(
    connection: sqlite3.Connection, run: int, run_id: str, row: tuple[Any, ...]
) -> dict[str, tuple[Any, int]]:
    """Return rows and stored bytes of each table of a trace; StoreError when one is not there."""
    number, _moment, version, *_rest = row
    found = connection.execute(
        "SELECT name, rows, length(content) FROM trace_tables WHERE run = ? AND number = ?",
        (run, number),
    ).fetchall()
    sizes = {name: (rows, size) for name, rows, size in found}
    if version == VERSION and sizes.keys() | {_LATER} != {*TABLES, FRAME_BYTES}:
        raise _damaged(run_id, f"trace_tables: number {number!r:.20} has not the tables of a trace")
    return sizes


def _head(
    connection: sqlite3.Connection, run: int, run_id: str, row: tuple[Any, ...]
) -> tuple[TraceHead, int]:
    """Return what a trace is of, and its version; StoreError when it is not what was stored."""
    _require_stored(run_id, row)
    number, moment, version, *captured, full_ns, _sum = row
    sizes = _sizes(connection, run, run_id, row)
    rows = {name: count for name, (count, _size) in sizes.items() if name != FRAME_BYTES}
    try:
        capture = _capture(*captured)
        _require_integers(number, version, 0 if full_ns is None else full_ns, *rows.values())
        valid = is_moment(moment) and (full_ns is None or abs(full_ns) < _MOST_TIME_NS)
    except typed.DECODING_ERRORS:
        valid = False
    if not (valid and min(rows.values(), default=0) >= 0):
        raise _damaged(run_id, f"traces: number {number!r:.20} is malformed")
    stored_bytes = sum(size for _rows, size in sizes.values())
    return TraceHead(number, moment, capture, full_ns, rows, stored_bytes), version


def _require_integers(*values: object) -> None:
    """Raise TypeError for what is no integer."""
    if not all(type(value) is int for value in values):
        raise TypeError("a value is no integer")


def _capture(
    from_ns: Any, to_ns: Any, kinds: Any, limit_bytes: Any, snap_bytes: Any, flows: Any, links: Any
) -> Capture:
    """Return the capture of a stored row; ValueError or TypeError when it is none."""
    _require_integers(from_ns, to_ns, limit_bytes, snap_bytes)
    names = [json.loads(text) for text in (kinds, flows, links)]
    if not all(
        isinstance(each, list) and all(type(name) is str for name in each) for each in names
    ):
        raise TypeError("a value is no list of names")
    if not (
        0 <= from_ns < to_ns < _MOST_TIME_NS
        and 0 <= limit_bytes <= MOST_LIMIT_BYTES
        and 0 <= snap_bytes <= MOST_SNAP_BYTES
        and names[0] == sorted(set(names[0]) & WANTED.keys())
    ):
        raise ValueError("a value is not in its range")
    return Capture(
        from_ns, to_ns, frozenset(names[0]), limit_bytes, snap_bytes, *map(tuple, names[1:])
    )


def _content_sha256(run_id: str, values: Sequence[object], content: bytes) -> str:
    return sha256(run_id, *values, hashlib.sha256(content).hexdigest())


def _stored(
    connection: sqlite3.Connection, run: int, run_id: str, number: int, name: str
) -> tuple[Any, Any, bytes]:
    """Return rows, bytes and content of a table; ValueError when it is not what was stored."""
    row = connection.execute(
        "SELECT rows, bytes, content, sha256 FROM trace_tables "
        "WHERE run = ? AND number = ? AND name = ?",
        (run, number, name),
    ).fetchone()
    if row is None:
        raise ValueError(f"trace {number} has no {name}")
    rows, size, content, stored = row
    if not isinstance(content, bytes) or stored != _content_sha256(
        run_id, (number, name, rows, size), content
    ):
        raise ValueError(f"{name} of trace {number} is not what was stored")
    return rows, size, content


def _content(
    connection: sqlite3.Connection, run: int, run_id: str, number: int, name: str, most_bytes: int
) -> tuple[int, bytes]:
    """Return rows and bytes of a table; ValueError when nobody can have stored it."""
    rows, size, content = _stored(connection, run, run_id, number, name)
    if not (type(rows) is int and type(size) is int and 0 <= size <= most_bytes):
        raise ValueError(f"{name} of trace {number} has a size that nothing has")
    data = inflated(content, size)
    if len(data) != size:
        raise ValueError(f"{name} of trace {number} has not {size} bytes")
    return rows, data


def _kind(dtype: np.dtype[Any]) -> str | None:
    """Return the unsigned integers as which the differences of a column are kept, if any."""
    return f"<u{dtype.itemsize}" if dtype.kind in "iu" else None


def _columns(rows: npt.NDArray[np.void]) -> bytes:
    """Return the columns of a table one after the other."""
    parts = []
    for name in rows.dtype.names or ():
        column = np.ascontiguousarray(rows[name])
        kind = _kind(column.dtype)
        if kind is not None:
            column = column.astype(kind, casting="unsafe")
            column = np.diff(column, prepend=np.zeros(1, kind)).astype(kind)
        parts.append(column.tobytes())
    return b"".join(parts)


def _table(name: str, rows: int, data: bytes) -> npt.NDArray[np.void]:
    """Return the table of that name; ValueError when the columns are not its own."""
    dtype = TABLES[name]
    if rows < 0 or len(data) != rows * dtype.itemsize:
        raise ValueError(f"{name} has not {rows} rows")
    made = np.zeros(rows, dtype)
    at = 0
    for column in dtype.names or ():
        form = dtype[column]
        part = data[at : at + rows * form.itemsize]
        at += len(part)
        kind = _kind(form)
        if kind is None:
            made[column] = np.frombuffer(part, form)
        else:
            differences = np.frombuffer(part, kind)
            made[column] = np.cumsum(differences, dtype=kind).astype(form, casting="unsafe")
    return made
