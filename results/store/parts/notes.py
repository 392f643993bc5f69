"""Stores and reads notes and tags of runs: what people say about a run after it was begun.

They are no part of the run and not covered by its checksums. Each row has a SHA-256 of its own,
which shows damage to it. A note or tag can be removed, and is never changed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.units import shown
from results.schema.database import utc_now

MOST_CHARACTERS = 10_000
"""Most characters of a note."""

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,63}")
NO_TAGS = ("none", "and", "or", "not")
"""Words that mean something else in conditions on runs."""


class DamagedRow(Exception):
    """A note or a tag is not what was stored: the run's id, and the table."""


class Note(NamedTuple):
    """A note: its number within the run, when it was added (ISO 8601, UTC), and its text."""

    number: int
    noted_utc: str
    text: str


@dataclass
class Remarks:
    """The notes of a run by number, and its tags in alphabetical order."""

    notes: list[Note] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


def check_note(text: str) -> str:
    """Return a note's text without spaces at its ends; UsageError when it cannot be stored."""
    text = text.strip()
    if not text or len(text) > MOST_CHARACTERS:
        raise UsageError(f"a note has 1 to {MOST_CHARACTERS} characters, not {len(text)}")
    if plaintext.visible(text) != text:
        raise UsageError("a note has no control characters but line ends and tabs")
    return text


def check_tag(tag: str) -> str:
    """Return a tag; UsageError when it is not one word of the characters that tags have."""
    if not TAG.fullmatch(tag) or tag in NO_TAGS:
        raise UsageError(
            f"{shown(tag)} is no tag: write 1 to 64 letters, digits and . _ : + - , beginning with "
            f"a letter or a digit, and none of {', '.join(NO_TAGS)}"
        )
    return tag


def insert_note(connection: sqlite3.Connection, run: int, run_id: str, text: str) -> None:
    """Add a note, inside the caller's transaction."""
    (last,) = connection.execute("SELECT max(number) FROM notes WHERE run = ?", (run,)).fetchone()
    note = Note((last or 0) + 1, utc_now(), text)
    connection.execute(
        "INSERT INTO notes VALUES (?, ?, ?, ?, ?)", (run, *note, sha256(run_id, *note))
    )


def insert_tag(connection: sqlite3.Connection, run: int, run_id: str, tag: str) -> None:
    """Add a tag unless the run has it, inside the caller's transaction."""
    moment = utc_now()
    connection.execute(
        "INSERT INTO tags VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (run, tag, moment, sha256(run_id, tag, moment)),
    )


def read(connection: sqlite3.Connection, run: int | None = None) -> dict[str, Remarks]:
    """Return notes and tags of the run of that key, or of every run, by the run's id.

    Raises:
        DamagedRow: a row is not what was stored.
    """
    by_run: dict[str, Remarks] = {}
    for table, run_id, values, intact in _rows(connection, run):
        if not intact:
            raise DamagedRow(run_id, table)
        remarks = by_run.setdefault(run_id, Remarks())
        if table == "notes":
            remarks.notes.append(Note(*values))
        else:
            remarks.tags.append(values[0])
    return by_run


def problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with each note and tag that is not what was stored."""
    for table, run_id, _values, intact in _rows(connection, None):
        if not intact:
            yield f"table {table}: a row of run {run_id} is not what was stored"


def sha256(run_id: str, *values: object) -> str:
    """Return the SHA-256 over the values of a row of a run."""
    text = json.dumps([run_id, *values], default=repr, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _rows(
    connection: sqlite3.Connection, run: int | None
) -> Iterator[tuple[str, str, tuple[Any, ...], bool]]:
    """Yield the table, the id of the run, values, and whether they are what was stored."""
    for table, names in (("notes", "number, noted_utc, text"), ("tags", "tag, tagged_utc")):
        rows = connection.execute(
            f"SELECT id, {names}, sha256 FROM {table} JOIN runs USING (run) "
            "WHERE ?1 IS NULL OR runs.run = ?1 ORDER BY 1, 2",
            (run,),
        )
        for run_id, *values, stored in rows.fetchall():
            yield table, run_id, tuple(values), stored == sha256(run_id, *values)
