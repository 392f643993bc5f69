"""Stores files by their content, each once: those that scenarios name, and those that runs keep.

The table ``run_files`` says which run needs which file at which place, and ``kept_files`` which
file a run's programs have left. A run's checksum covers its rows there, which have the SHA-256 of
each file. So a file is checked by its own hash.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator

from orchestrator.errors import StoreError
from orchestrator.files.inflating import inflated
from orchestrator.files.scenario_files import MOST_FILE_BYTES, NamedFile, require_place

MOST_FILES = 10_000
"""Most files that one run may need."""


def insert(connection: sqlite3.Connection, run: int, files: Iterable[NamedFile]) -> None:
    """Add the files of a run that begins, inside the caller's transaction."""
    for file in files:
        add(connection, file.sha256, file.content)
        connection.execute("INSERT INTO run_files VALUES (?, ?, ?)", (run, file.place, file.sha256))


def add(connection: sqlite3.Connection, sha256: str, content: bytes) -> None:
    """Add a content unless it is there, inside the caller's transaction."""
    query = "SELECT 1 FROM files WHERE sha256 = ?"
    if not connection.execute(query, (sha256,)).fetchone():
        row = (sha256, len(content), zlib.compress(content))
        connection.execute("INSERT INTO files VALUES (?, ?, ?)", row)


def read(connection: sqlite3.Connection, run: int) -> dict[str, bytes]:
    """Return the files of a run by their places.

    Raises:
        ValueError: a file is missing, or is not what was stored.
    """
    rows = connection.execute(
        "SELECT place, run_files.sha256, bytes, content FROM run_files "
        "LEFT JOIN files USING (sha256) WHERE run = ? ORDER BY place LIMIT ?",
        (run, MOST_FILES + 1),
    ).fetchall()
    if len(rows) > MOST_FILES:
        raise ValueError(f"it needs more than {MOST_FILES} files")
    return {require_place(path): _content(*row) for path, *row in rows}


def content(connection: sqlite3.Connection, sha256: str) -> bytes:
    """Return the content of that SHA-256.

    Raises:
        ValueError: it is missing, or is not what was stored.
    """
    row = connection.execute("SELECT * FROM files WHERE sha256 = ?", (sha256,)).fetchone()
    return _content(*(row or (sha256, None, None)))


def remove_unneeded(connection: sqlite3.Connection) -> int:
    """Remove the files that no run needs, inside the caller's transaction; return their number."""
    return connection.execute(
        "DELETE FROM files WHERE sha256 NOT IN (SELECT sha256 FROM run_files) "
        "AND sha256 NOT IN (SELECT sha256 FROM kept_files WHERE sha256 IS NOT NULL)"
    ).rowcount


def problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with each file that is not what was stored."""
    for sha256, size, content in connection.execute("SELECT sha256, bytes, content FROM files"):
        try:
            _content(sha256, size, content)
        except ValueError as error:
            yield f"table files: {error}"


def copy(source: sqlite3.Connection, target: sqlite3.Connection, run: int) -> None:
    """Copy the files of a run of ``source`` that ``target`` does not have.

    Raises:
        StoreError: a file is not what was stored.
    """
    for (sha256,) in source.execute(
        "SELECT sha256 FROM run_files WHERE run = ?1 UNION "
        "SELECT sha256 FROM kept_files WHERE run = ?1 AND sha256 IS NOT NULL",
        (run,),
    ).fetchall():
        if target.execute("SELECT 1 FROM files WHERE sha256 = ?", (sha256,)).fetchone():
            continue
        row = source.execute("SELECT * FROM files WHERE sha256 = ?", (sha256,)).fetchone()
        try:
            _content(*(row or (sha256, None, None)))
        except ValueError as error:
            raise StoreError(f"table files: {error}") from error
        target.execute("INSERT INTO files VALUES (?, ?, ?)", row)


def _content(sha256: object, size: object, data: object) -> bytes:
    """Return the content of a stored file; ValueError when it is not what was stored."""
    if data is None:
        raise ValueError(f"the file {sha256!r:.80} is missing")
    if not (type(size) is int and 0 <= size <= MOST_FILE_BYTES and isinstance(data, bytes)):
        raise ValueError(f"the file {sha256!r:.80} is not what was stored")
    try:
        content = inflated(data, size)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the file {sha256!r:.80} is not what was stored: {error}") from error
    if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"the file {sha256!r:.80} is not what was stored")
    return content
