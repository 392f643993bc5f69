"""What a run is judged by, and its judgements after its own, as the store holds them.

The run's own judgement is in ``runs`` and ``checks`` and under their checksums. A later one is a
row of ``judgements`` with a checksum of its own, because it is added after the run was sealed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from orchestrator.errors import StoreError
from orchestrator.recording.model import Check, Verdict
from results import typed

MOST_EVIDENCE_BYTES = 2**30
"""Of one value's JSON; a bed's facts are bounded far below (orchestrator/compile/bounds.py)."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its checks, by which version of the checks, and when (ISO 8601).

    ``checks_version`` is None where an earlier version of the program stored the run.
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
    """Return the values of stored rows (name, bytes, json); they take no more than they say.

    Raises:
        ValueError, TypeError, zlib.error: a row holds what :func:`evidence_rows` never makes.
    """
    found = {}
    for name, size, data in rows:
        if not (isinstance(size, int) and 0 <= size <= MOST_EVIDENCE_BYTES):
            raise ValueError(f"{name!r:.80} has {size!r:.80} bytes")
        if not isinstance(data, bytes):
            raise TypeError(f"{name!r:.80} is no BLOB")
        inflater = zlib.decompressobj()
        text = inflater.decompress(data, size + 1)
        if len(text) != size or not inflater.eof:
            raise ValueError(f"{name!r:.80} has not {size} bytes")
        found[str(name)] = json.loads(text)
    return found


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
    (number,) = connection.execute(
        "SELECT coalesce(max(number), 0) + 1 FROM judgements WHERE run = ?", (run,)
    ).fetchone()
    values = (
        number,
        judgement.judged_utc,
        judgement.checks_version,
        judgement.verdict,
        json.dumps(plain_checks(judgement.checks), allow_nan=False),
    )
    connection.execute(
        "INSERT INTO judgements (run, number, judged_utc, checks_version, verdict, checks, sha256)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (run, *values, _sha256(run_id, values)),
    )


def read(connection: sqlite3.Connection, run: int) -> list[Judgement]:
    """Return the judgements after the run's own, oldest first, of which :func:`problem` is None."""
    return [_judgement(row) for row in _rows(connection, run)]


def problem(connection: sqlite3.Connection, run: int, run_id: str) -> str | None:
    """Return what is wrong with the judgements after the run's own, None when nothing is."""
    for expected, row in enumerate(_rows(connection, run), start=1):
        if row[0] != expected:
            return f"number {expected} is missing"
        if _sha256(run_id, row[:-1]) != row[-1]:
            return f"number {expected} is not what was stored"
        try:
            _judgement(row)
        except typed.SYMPTOMS as error:
            return f"number {expected}: {error}"
    return None


def _rows(connection: sqlite3.Connection, run: int) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT number, judged_utc, checks_version, verdict, checks, sha256 FROM judgements "
        "WHERE run = ? ORDER BY number",
        (run,),
    ).fetchall()


def _judgement(row: Sequence[Any]) -> Judgement:
    _number, judged_utc, version, verdict, checks, _sha = row
    names = {field.name for field in fields(Check)}
    made = []
    for check in json.loads(checks):
        if check.keys() != names:
            raise ValueError("a check has other fields")
        made.append(typed.make(Check, check))
    return typed.make(
        Judgement,
        {"verdict": verdict, "checks": made, "checks_version": version, "judged_utc": judged_utc},
    )


def _sha256(run_id: str, values: Sequence[Any]) -> str:
    text = json.dumps([run_id, *values], default=repr, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
