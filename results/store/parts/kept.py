"""Stores the files that a run keeps of its programs, and reads them back.

Their contents are in the table ``files``, each once. A run's checksum covers its rows here, which
have the SHA-256 of each file.
"""

from __future__ import annotations

import sqlite3

from orchestrator.recording.kept import KeptFile, KeptFiles
from results.records import typed
from results.store.parts import files

MOST_FILES = 100_000
"""Most rows that a run may have."""

_COLUMNS = ("flow", "role", "name", "size_bytes", "sha256", "left_out")
_LISTED = ", ".join(_COLUMNS)


def insert(connection: sqlite3.Connection, run: int, kept: KeptFiles) -> None:
    """Add the files of a run that ends, inside the caller's transaction."""
    for sha256, content in kept.contents.items():
        files.add(connection, sha256, content)
    connection.executemany(
        f"INSERT INTO kept_files (run, position, {_LISTED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (run, position, *(getattr(one, name) for name in _COLUMNS))
            for position, one in enumerate(kept.files)
        ],
    )


def read(connection: sqlite3.Connection, run: int) -> list[KeptFile]:
    """Return the files of a run, those that are left out, too.

    Raises:
        ValueError: a value cannot have been stored.
        TypeError: the same.
    """
    rows = connection.execute(
        f"SELECT position, {_LISTED} FROM kept_files WHERE run = ? ORDER BY position LIMIT ?",
        (run, MOST_FILES + 1),
    ).fetchall()
    if len(rows) > MOST_FILES or [row[0] for row in rows] != list(range(len(rows))):
        raise ValueError("its rows are not numbered from 0, or too many")
    made = [typed.make(KeptFile, dict(zip(_COLUMNS, row[1:], strict=True))) for row in rows]
    places = [(one.flow, one.role, one.name) for one in made if one.sha256 is not None]
    if len(set(places)) < len(places):
        raise ValueError("a file is there twice")
    return made


def content(connection: sqlite3.Connection, one: KeptFile) -> bytes:
    """Return the content of a file that is kept; ValueError when it is not what was stored."""
    data = files.content(connection, str(one.sha256))
    if len(data) != one.size_bytes:
        raise ValueError(f"the file {one.sha256!r:.80} has another size")
    return data
