"""Takes runs from other stores into one: with samples, metrics, judgements, notes and tags.

A source may be anyone's file, so nothing in it is believed. It is copied first, and only the copy
is used. The copy's tables, triggers and views must be exactly those of its schema version before
anything else of it is read. Then it is migrated, all its checksums are compared, and the values of
every run are checked (``results.store.upkeep.soundness``). A run with malformed values is refused;
the others are taken. Rows are copied as they are, so checksums stay valid.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator import plaintext
from orchestrator.errors import NotAStoreError, OrchestratorError, StoreError, UsageError
from orchestrator.files.temporary import temporary_folder
from results.records import typed
from results.schema import access_errors, database
from results.schema.database import Tell, say_nothing
from results.store.parts import files, integrity, removal
from results.store.store import Store
from results.store.upkeep import soundness

_COPIED = tuple(table for table in removal.TABLES if table not in ("checksums", "judgements"))
_ROWS = 20
"""Copied at a time: a block of samples may have a megabyte."""


@dataclass
class MergedSource:
    """What became of the runs of one source, by their ids.

    ``there`` are equal runs that the store had, ``removed`` those that were removed from it before,
    and ``running`` those that had not ended. ``refused`` are malformed runs, with the reason.
    """

    source: Path
    taken: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def merge(target: Path, sources: Sequence[Path], tell: Tell = say_nothing) -> list[MergedSource]:
    """Take the runs of all sources into a store, all in one transaction.

    The store is made if it does not exist. A run that it has, by its id and its checksums, is left
    as it is, with its own notes, tags and judgements. ``tell`` is called with what is migrated: the
    store itself, and copies of sources of an earlier schema.

    Raises:
        UsageError: a source is missing or the store itself, or has another run with the id of one.
        NotAStoreError: a source is no store, damaged, or of another schema. Nothing was changed.
        StoreError: the store cannot be written. Nothing was changed.
    """
    for source in sources:
        if not source.exists():
            raise UsageError(f"{source}: there is no such file to take runs from")
        if target.exists() and source.exists() and target.samefile(source):
            raise UsageError(f"{source}: a store cannot be merged into itself")
    with temporary_folder("merge") as folder:
        copies = [_checked_copy(path, folder / f"{n}.db", tell) for n, path in enumerate(sources)]
        with Store(target, tell) as store, store.writing() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            return [_take(connection, target, *copy) for copy in copies]


def _checked_copy(source: Path, copy_path: Path, tell: Tell) -> tuple[Path, MergedSource]:
    """Copy a source to ``copy_path`` and check the copy.

    Return its path, and the runs that had not ended and those that are malformed.

    Raises:
        NotAStoreError: it is not a whole store that this program can read.
    """
    with _refusing(source):
        with closing(database.open_read_only(source)) as original:
            if database.schema_version(original) == 0:
                raise StoreError("it has no runs")
            with closing(sqlite3.connect(copy_path)) as copy:
                original.backup(copy)
        with closing(database.open_read_only(copy_path)) as copy:
            copy.execute("PRAGMA trusted_schema = OFF")
            if not integrity.has_schema(copy):
                raise StoreError("its tables are not those of its schema version")
            _announce_migration(source, database.schema_version(copy), tell)
        database.open_writable(copy_path).close()
        examined = integrity.examine(copy_path)
        damage = [f"run {run.id}: {run.damage[0].problem}" for run in examined.runs if run.damage]
        if examined.problems or damage:
            raise StoreError("; ".join([*examined.problems, *damage][:5]))
        merged = MergedSource(source)
        with Store.open_read_only(copy_path) as store:
            query = "SELECT id, status FROM runs ORDER BY run"
            for run_id, status in store.connection.execute(query).fetchall():
                if status == "running":
                    merged.running.append(str(run_id))
                elif (reason := soundness.problem(store, run_id)) is not None:
                    shown = plaintext.visible(plaintext.shortened(str(run_id), 100))
                    merged.refused[shown] = reason
    return copy_path, merged


def _announce_migration(source: Path, old: int, tell: Tell) -> None:
    """Say that the copy of a source of an earlier schema is migrated."""
    if old < (new := database.newest()):
        tell(
            f"{source}: a copy of the file is migrated from schema {old} to {new}. For a large "
            "file that takes minutes. The file itself stays as it is"
        )


@contextmanager
def _refusing(source: Path) -> Iterator[None]:
    """Turn each error of reading a source into the one that names it."""
    try:
        yield
    except NotAStoreError:
        raise
    except (OrchestratorError, *access_errors.ERRORS, *typed.DECODING_ERRORS) as error:
        reason = plaintext.visible(plaintext.shortened(str(error), 1000))
        raise NotAStoreError(f"{source}: nothing was merged: {reason}") from error


def _take(
    connection: sqlite3.Connection, target: Path, copied: Path, merged: MergedSource
) -> MergedSource:
    """Copy the runs of a checked copy into the open store, inside the caller's transaction."""
    source = merged.source
    gone = {run_id for (run_id,) in connection.execute("SELECT id FROM removed")}
    with closing(database.open_read_only(copied)) as copy:
        for key, run_id in copy.execute("SELECT run, id FROM runs ORDER BY run").fetchall():
            there = connection.execute("SELECT run FROM runs WHERE id = ?", (run_id,)).fetchone()
            if run_id in merged.running or run_id in merged.refused:
                continue
            if there is not None:
                if _sums(connection, there[0]) != _sums(copy, key):
                    raise UsageError(
                        f"{source}: run {run_id} is another run than the one of this id in "
                        f"{target}; nothing was merged"
                    )
                merged.there.append(run_id)
            elif run_id in gone:
                merged.removed.append(run_id)
            else:
                _copy(copy, key, connection, run_id)
                merged.taken.append(run_id)
    return merged


def _sums(connection: sqlite3.Connection, key: int) -> list[tuple[Any, ...]]:
    """Return what identifies a run's content: its checksums, or else its digest and its end."""
    sums = connection.execute(
        'SELECT "table", rows, sha256 FROM checksums WHERE run = ? AND "table" <> \'judgements\' '
        "ORDER BY 1",
        (key,),
    ).fetchall()
    return (
        sums
        or connection.execute(
            "SELECT digest, seed, started_utc, finished_utc FROM runs WHERE run = ?", (key,)
        ).fetchall()
    )


def _copy(source: sqlite3.Connection, key: int, target: sqlite3.Connection, run_id: str) -> None:
    """Copy all rows of a run, under a key that no run of the target has or had."""
    new = removal.next_key(target)
    files.copy(source, target, key)
    for table in ("runs", *_COPIED):
        _copy_rows(source, key, target, new, table)
    # Triggers count judgements in ``checksums``, from the row of ``runs`` on.
    _copy_rows(source, key, target, new, "checksums", "AND \"table\" <> 'judgements'")
    _copy_rows(source, key, target, new, "judgements")
    integrity.require_judgements_intact(target, new, run_id)


def _copy_rows(
    source: sqlite3.Connection,
    key: int,
    target: sqlite3.Connection,
    new: int,
    table: str,
    condition: str = "",
) -> None:
    columns = target.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    names = [name for (name,) in columns if name != "run"]
    listed = ", ".join(f'"{name}"' for name in names)
    # Rows of one table stay in the order in which they were stored.
    (sql,) = source.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    order = "" if "WITHOUT ROWID" in sql.upper() else "ORDER BY rowid"
    rows = source.execute(f"SELECT {listed} FROM {table} WHERE run = ? {condition} {order}", (key,))
    places = ", ".join("?" * len(names))
    while chunk := rows.fetchmany(_ROWS):
        target.executemany(f"INSERT INTO {table} (run, {listed}) VALUES ({new:d}, {places})", chunk)
