"""Changes of a store by its users: notes, tags, removal of runs, and the file's size.

Every function works in one transaction: it changes all runs that are named, or none. Each raises
UsageError for a run that is not there, and StoreError when the file cannot be written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.errors import UsageError
from results.schema import access_errors
from results.schema.access_errors import reading
from results.store.parts import files, notes, removal, traces
from results.store.store import Store


class DatabaseSizes(NamedTuple):
    """Size of the database with its log, before and after, in bytes.

    ``complete`` is False when another process reads the file, which then shrinks later.
    """

    before_bytes: int
    after_bytes: int
    complete: bool


def add_note(store: Store, runs: Sequence[str], text: str) -> None:
    """Add a note to each run."""
    text = notes.check_note(text)
    with store.writing() as connection:
        for key, run_id, _status in _find(store, connection, runs):
            notes.insert_note(connection, key, run_id, text)


def remove_note(store: Store, runs: Sequence[str], number: int) -> None:
    """Remove the note of that number from each run; UsageError when one has none."""
    with store.writing() as connection:
        for key, run_id, _status in _find(store, connection, runs):
            done = connection.execute(
                "DELETE FROM notes WHERE run = ? AND number = ?", (key, number)
            )
            if not done.rowcount:
                raise UsageError(f"run {run_id} has no note {number}; nothing was removed")


def add_tag(store: Store, runs: Sequence[str], tag: str) -> None:
    """Add a tag to each run that does not have it."""
    tag = notes.check_tag(tag)
    with store.writing() as connection:
        for key, run_id, _status in _find(store, connection, runs):
            notes.insert_tag(connection, key, run_id, tag)


def remove_tag(store: Store, runs: Sequence[str], tag: str) -> None:
    """Remove a tag from each run; UsageError when one does not have it."""
    with store.writing() as connection:
        for key, run_id, _status in _find(store, connection, runs):
            done = connection.execute("DELETE FROM tags WHERE run = ? AND tag = ?", (key, tag))
            if not done.rowcount:
                raise UsageError(f"run {run_id} has no tag {tag}; nothing was removed")


def remove_runs(store: Store, runs: Sequence[str]) -> None:
    """Remove runs with all that is stored of them; UsageError when one is running."""
    with store.writing() as connection:
        keys = _find(store, connection, runs)
        for _key, run_id, status in keys:
            if status == "running":
                raise UsageError(f"run {run_id} is running; end it first. Nothing was removed")
        removal.remove(connection, [(key, run_id) for key, run_id, _status in keys])


def remove_traces(store: Store, runs: Sequence[str]) -> None:
    """Remove all traces of runs, which stay as they are."""
    with store.writing() as connection:
        for key, _run_id, _status in _find(store, connection, runs):
            traces.remove(connection, key)


def ended_badly(store: Store) -> tuple[list[str], list[str]]:
    """Return the runs that failed or were interrupted: those without notes and tags, the others."""
    remarks = store.remarks()
    bad = [row.id for row in store.list_runs() if row.status in ("failed", "interrupted")]
    return [run_id for run_id in bad if run_id not in remarks], [
        run_id for run_id in bad if run_id in remarks
    ]


def require_no_running(store: Store) -> None:
    """Raise UsageError when a run is running, whose end could not be stored meanwhile."""
    running = [row.id for row in store.list_runs() if row.status == "running"]
    if running:
        raise UsageError(
            f"run {running[0]} is running, and the file would be locked for it; wait for its end"
        )


def free_bytes(store: Store) -> int:
    """Return how many bytes of the file hold nothing."""
    with reading(store.path):
        return removal.free_bytes(store.connection)


def reclaim(store: Store) -> DatabaseSizes:
    """Give the free space of the file back to the file system, and that of files no run needs.

    Raises:
        UsageError: a run is running, whose end could not be stored meanwhile.
    """
    require_no_running(store)
    with store.writing() as connection:
        files.remove_unneeded(connection)
    before_bytes = removal.size_bytes(store.path)
    try:
        complete = removal.compact(store.connection)
    except access_errors.ERRORS as error:
        raise access_errors.unwritable(store.path, error) from error
    return DatabaseSizes(before_bytes, removal.size_bytes(store.path), complete)


def _find(
    store: Store, connection: sqlite3.Connection, runs: Sequence[str]
) -> list[tuple[int, str, str]]:
    """Return key, id and status of each run that is named, once each, in the order given."""
    ids = dict.fromkeys(store.resolve(run) for run in runs)
    query = "SELECT run, id, status FROM runs WHERE id = ?"
    return [connection.execute(query, (run_id,)).fetchone() for run_id in ids]
