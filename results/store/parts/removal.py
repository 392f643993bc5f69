"""Removes runs from a store, and gives the file's free space back.

A run is removed with all its rows: samples, metrics, checks, evidence, judgements, checksums,
notes, tags and traces. The others keep theirs, so their checksums stay valid. The table ``removed``
keeps id and time of a removed run, and its key is never given to another run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from results.schema.database import utc_now
from results.store.parts import files
from results.store.parts.checksum import ALL_TABLES
from results.store.parts.notes import sha256

TABLES = (
    *(table for table in ALL_TABLES if table != "runs"),
    "checksums",
    "judgements",
    "notes",
    "tags",
    "trace_tables",
    "traces",
)
"""All tables with rows of runs, except for ``runs`` and ``removed``."""


def remove(connection: sqlite3.Connection, runs: Sequence[tuple[int, str]]) -> None:
    """Remove runs (key, id) that do not run, with the files that no other run needs.

    This is part of the caller's transaction.
    """
    # Judgements may only be deleted after their run, to which many tables refer.
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for key, run_id in runs:
        row = (key, run_id, utc_now())
        connection.execute("DELETE FROM runs WHERE run = ?", (key,))
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (key,))
        connection.execute(
            "INSERT INTO removed VALUES (?, ?, ?, ?)", (*row, sha256(run_id, key, row[2]))
        )
    files.remove_unneeded(connection)


def when_removed(connection: sqlite3.Connection, text: str) -> tuple[str, str] | None:
    """Return id and time of the run that was removed, by its id or a unique start of it."""
    matches: list[tuple[str, str]] = connection.execute(
        "SELECT id, removed_utc FROM removed WHERE substr(id, 1, length(?1)) = ?1 AND ?1 <> ''",
        (text,),
    ).fetchall()
    return matches[0] if len(matches) == 1 else None


def next_key(connection: sqlite3.Connection) -> int:
    """Return a key that no run has or had."""
    (last,) = connection.execute(
        "SELECT max(run) FROM (SELECT run FROM runs UNION ALL SELECT run FROM removed)"
    ).fetchone()
    return int(last or 0) + 1


def problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with each removal that is not what was stored."""
    for key, run_id, moment, stored in connection.execute("SELECT * FROM removed").fetchall():
        if stored != sha256(run_id, key, moment):
            yield f"table removed: the row of run {run_id} is not what was stored"


def size_bytes(path: Path) -> int:
    """Return the size of a database with its log, in bytes."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def free_bytes(connection: sqlite3.Connection) -> int:
    """Return the size of the pages of an open database that hold nothing, in bytes."""
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)


def compact(connection: sqlite3.Connection) -> bool:
    """Write the file anew without free pages; return False while another process reads it.

    The file then shrinks when the next process that writes closes it. VACUUM needs about the file's
    size twice for a while.
    """
    connection.execute("VACUUM")
    (busy, _log, _done) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
