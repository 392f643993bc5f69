"""Finds the run that a user means: by its id, by the start of one, or by ``last``."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

from orchestrator.errors import UsageError
from results.schema.access_errors import reading
from results.store.parts import removal

LAST = "last"
"""Names the run that began last."""


class UnknownRunError(UsageError):
    """No run has that id or one that starts so, and none had it before it was removed."""


def resolve(connection: sqlite3.Connection, path: Path, text: str) -> str:
    """Return the id of the run that an id, a unique start of one, or ``last`` names.

    Raises:
        UnknownRunError: there is no such run.
        UsageError: it was removed, or several ids start so.
        StoreError: the file cannot be read.
    """
    with reading(path):
        if _is_id(connection, text):
            return text
        ids = _last(connection) if text == LAST else _starting_with(connection, text)
        removed = removal.when_removed(connection, text)
        is_experiment = _is_experiment(connection, text)
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise UsageError(f"several runs start with {text}: {', '.join(ids)}")
    if removed is not None:
        raise UsageError(f"run {removed[0]} was removed from {path} at {removed[1]}")
    if is_experiment:
        command = shlex.join(["orchestrator", "runs", "--experiment", text])
        raise UnknownRunError(f"{text} in {path} is an experiment; `{command}` lists its runs")
    raise UnknownRunError(f"there is no run {text} in {path}; `orchestrator runs` lists them")


def _is_id(connection: sqlite3.Connection, text: str) -> bool:
    """Tell whether a run has this id. An index finds it; the start of an id needs every row."""
    return connection.execute("SELECT 1 FROM runs WHERE id = ?", (text,)).fetchone() is not None


def _is_experiment(connection: sqlite3.Connection, text: str) -> bool:
    """Tell whether the text is ``NAME`` or ``NAME@HASH``, and runs are of that name."""
    selected = connection.execute(
        "SELECT 1 FROM runs WHERE experiment IN (?, ?) LIMIT 1", (text, text.rpartition("@")[0])
    )
    return selected.fetchone() is not None


def _last(connection: sqlite3.Connection) -> list[str]:
    selected = connection.execute("SELECT id FROM runs ORDER BY run DESC LIMIT 1")
    return [run_id for (run_id,) in selected]


def _starting_with(connection: sqlite3.Connection, text: str) -> list[str]:
    """Return at most ten ids that start with the text, newest first; none for an empty text."""
    selected = connection.execute(
        "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 AND ?1 <> '' "
        "ORDER BY run DESC LIMIT 10",
        (text,),
    )
    return [run_id for (run_id,) in selected]
