"""Stores and reads the evidence of runs, and the judgements that are added to runs.

The first judgement of a run is in ``runs`` and ``checks``, whose checksums cover it. A later one is
a row of ``judgements``, because it is added after these checksums were written. Each such row has a
SHA-256 of its own, which also covers the SHA-256 of the row before it. Number and SHA-256 of the
last row are in ``checksums``, so a deleted row is found, too. Triggers keep them there.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from orchestrator.errors import StoreError
from orchestrator.files.inflating import inflated
from orchestrator.recording.model import Check, Verdict
from results.records import typed
from results.store.parts.checksum import Checksum

MOST_EVIDENCE_BYTES = 2**30
"""Limit of one value's JSON. The limit of a bed's facts is much smaller, see
orchestrator/compile/bounds.py."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its checks, the version of the checks, and the time in ISO 8601.

    ``checks_version`` is None where the recording did not name one.
    """

    verdict: Verdict
    checks: list[Check]
    checks_version: str | None
    judged_utc: str


def evidence_rows(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return name, size and compressed JSON of each value; StoreError when one is too large."""
    rows = []
    for name, value in evidence.items():
        text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
        if len(text) > MOST_EVIDENCE_BYTES:
            raise StoreError(f"{name}: {len(text)} bytes; {MOST_EVIDENCE_BYTES} at most are stored")
        rows.append({"name": name, "bytes": len(text), "json": zlib.compress(text)})
    return rows


def read_evidence(rows: Sequence[tuple[object, object, object]]) -> dict[str, Any]:
    """Return the values of stored rows (name, bytes, json). None grows above its stored size.

    Raises:
        ValueError, TypeError: :func:`evidence_rows` never makes such a row.
    """
    evidence = {}
    for name, size, data in rows:
        if not (isinstance(size, int) and 0 <= size <= MOST_EVIDENCE_BYTES):
            raise ValueError(f"{name!r:.80} has {size!r:.80} bytes")
        if not isinstance(data, bytes):
            raise TypeError(f"{name!r:.80} is no BLOB")
        text = inflated(data, size)
        if len(text) != size:
            raise ValueError(f"{name!r:.80} has not {size} bytes")
        evidence[str(name)] = json.loads(text)
    return evidence


def plain_checks(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Return checks as JSON-ready fields, numbers of numpy as Python's."""
    return [
        {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in vars(check).items()
        }
        for check in checks
    ]


def insert(connection: sqlite3.Connection, run: int, run_id: str, judgement: Judgement) -> None:
    """Add a judgement of a run, inside the caller's transaction."""
    number, previous = connection.execute(
        "SELECT number, sha256 FROM judgements WHERE run = ? ORDER BY number DESC LIMIT 1", (run,)
    ).fetchone() or (0, "")
    row = _Row(
        number + 1,
        judgement.judged_utc,
        judgement.checks_version,
        judgement.verdict,
        json.dumps(plain_checks(judgement.checks), allow_nan=False),
        previous,
    )
    row = row._replace(sha256=_sha256(run_id, row))
    connection.execute(
        f"INSERT INTO judgements (run, {', '.join(_Row._fields)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run, *row),
    )


def read(connection: sqlite3.Connection, run: int) -> list[Judgement]:
    """Return the judgements after the first one, oldest first.

    The caller has checked them by :func:`problem`.
    """
    return [_judgement(row) for row in _rows(connection, run)]


def problem(connection: sqlite3.Connection, run: int, run_id: str, last: Checksum) -> str | None:
    """Return what is wrong with the judgements after the first one, None when nothing is.

    ``last`` has the number and the SHA-256 of the last judgement, as ``checksums`` keeps them.
    """
    number, previous = 0, ""
    for row in _rows(connection, run):
        if row.number != number + 1:
            return f"number {number + 1} is missing"
        number = row.number
        if row.sha256 != _sha256(run_id, row) or row.previous != previous:
            return f"number {number} is not what was stored"
        try:
            _judgement(row)
        except typed.DECODING_ERRORS as error:
            return f"number {number}: {error}"
        previous = row.sha256
    if last == (number, previous):
        return None
    if last.rows != number:
        return f"{number} are there, and {last.rows} were stored"
    return f"number {number} is not what was stored"


class _Row(NamedTuple):
    """A row of ``judgements``."""

    number: int
    judged_utc: str
    checks_version: str | None
    verdict: str
    checks: str
    previous: str
    sha256: str = ""


def _rows(connection: sqlite3.Connection, run: int) -> list[_Row]:
    names = ", ".join(_Row._fields)
    rows = connection.execute(
        f"SELECT {names} FROM judgements WHERE run = ? ORDER BY number", (run,)
    )
    return [_Row(*row) for row in rows]


def _judgement(row: _Row) -> Judgement:
    names = {field.name for field in fields(Check)}
    made = []
    for check in json.loads(row.checks):
        if check.keys() != names:
            raise ValueError("a check has other fields")
        made.append(typed.make(Check, check))
    return typed.make(
        Judgement,
        {
            "verdict": row.verdict,
            "checks": made,
            "checks_version": row.checks_version,
            "judged_utc": row.judged_utc,
        },
    )


def _sha256(run_id: str, row: _Row) -> str:
    """Return the SHA-256 over a row, all of its values but this one."""
    text = json.dumps([run_id, *row[:-1]], default=repr, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
