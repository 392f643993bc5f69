"""Reads rows of the table ``runs``, a run each, as the list of runs has them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from results.records import columns, typed
from results.records.model import RunRow
from results.schema.access_errors import reading
from results.store.parts import integrity, process_identity

GONE = "the process that ran it ended without finishing it"
"""The error of a run that is found interrupted."""

OWNER = "owner_pid, owner_start_ticks, owner_boot_id, owner_pid_namespace"
"""The columns of ``runs`` that :func:`owner_of` takes."""

LATEST_VERDICT = (
    "coalesce((SELECT verdict FROM judgements WHERE judgements.run = runs.run "
    "ORDER BY number DESC LIMIT 1), verdict)"
)
"""SQL of the verdict of a run's latest judgement."""

_ROW = ", ".join(
    LATEST_VERDICT if field.name == "verdict" else field.name for field in fields(RunRow)
)


def read(
    connection: sqlite3.Connection, path: Path, where: str, *parameters: object
) -> list[tuple[int, RunRow]]:
    """Return (key, row) of each run of which the SQL condition ``where`` holds, oldest first.

    A run whose process has ended is interrupted, also if it is not marked yet.

    Raises:
        StoreError: the file cannot be read, or a value cannot have been stored.
    """
    with reading(path):
        rows = connection.execute(
            f"SELECT run, {OWNER}, {_ROW} FROM runs WHERE {where} ORDER BY run", parameters
        ).fetchall()
    running = 5 + columns.names(RunRow).index("status")
    ended = [row for row in rows if row[running] != "running"]
    try:
        known = _at_once(ended)
    except typed.DECODING_ERRORS:  # they are read one by one, with an error that names the run
        known = {}
    shared: dict[tuple[str, Any], Any] = {}
    return [(row[0], known.get(row[0]) or _row(row[5:], row[1:5], shared)) for row in rows]


def owner_of(run: object, values: Sequence[Any]) -> process_identity.ProcessIdentity:
    """Return the process of a run's columns OWNER; StoreError when there can be no such process.

    ``run`` is the run's id or key, which the error names.
    """
    try:
        names = [field.name for field in fields(process_identity.ProcessIdentity)]
        return typed.make(process_identity.ProcessIdentity, dict(zip(names, values, strict=True)))
    except TypeError as error:
        raise integrity.damaged(str(run), f"table runs: owner_{error}") from error


def _at_once(rows: Sequence[Sequence[Any]]) -> dict[int, RunRow]:
    """Return the rows of runs that have ended by key, column by column.

    Raises:
        Exception: one of ``typed.DECODING_ERRORS`` when a value cannot have been stored.
    """
    if not rows:
        return {}
    names = columns.names(RunRow)
    keys, _pid, _start_ticks, _boot_id, _namespace, *stored = zip(*rows, strict=True)
    made = typed.make_all(RunRow, names, columns.read_all(RunRow, names, stored))
    return dict(zip(keys, made, strict=True))


def _row(
    stored: Sequence[Any], owned_by: Sequence[Any], shared: dict[tuple[str, Any], Any]
) -> RunRow:
    values = dict(zip(columns.names(RunRow), stored, strict=True))
    if values["status"] == "running" and owner_of(values["id"], owned_by).is_dead():
        values |= {"status": "interrupted", "error": GONE}
    try:
        return typed.make(RunRow, columns.read(RunRow, values, shared))
    except typed.DECODING_ERRORS as error:
        raise integrity.damaged(values["id"], f"table runs: {error}") from error
