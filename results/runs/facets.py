"""Counts of runs by status, verdict, congestion control, experiment and tag, as conditions.

A run with flows of two congestion controls, or with two tags, counts for each of them.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.query.conditions import NOTHING

_PLAIN = re.compile(r"[^\s()=!<>\"']+")
_WORDS = ("and", "or", "not", NOTHING)

_QUERIES = {
    "congestion": "SELECT congestion_control, count(DISTINCT run) FROM flows {} GROUP BY 1 "
    "HAVING congestion_control IS NOT NULL",
    "experiment": "SELECT experiment, count(*) FROM runs {} GROUP BY 1",
    "tag": "SELECT tag, count(*) FROM tags {} GROUP BY 1",
}


@dataclass(frozen=True)
class Count:
    """A value, how many runs have it, and the condition that keeps these; None if none can."""

    value: str
    runs: int
    condition: str | None


Facets = Mapping[str, Sequence[Count]]
"""Counts by the name of a field, the largest first."""


def count(
    connection: sqlite3.Connection, keys: Sequence[int] | None, known: Mapping[str, Sequence[Any]]
) -> Facets:
    """Return the counts of the runs with these keys, or of all without any.

    ``known`` has the values of fields that are at hand already, one for each run.
    """
    where = "" if keys is None else "WHERE run IN (SELECT value FROM json_each(?))"
    chosen = () if keys is None else (json.dumps(list(keys)),)
    counters = {name: Counter(values) for name, values in known.items()}
    for name, query in _QUERIES.items():
        counters[name] = Counter(dict(connection.execute(query.format(where), chosen).fetchall()))
    return {name: _ordered(name, counts) for name, counts in counters.items()}


def _ordered(name: str, counts: Mapping[Any, int]) -> list[Count]:
    made = [
        Count("none" if value is None else str(value), runs, _condition(name, value))
        for value, runs in counts.items()
    ]
    return sorted(made, key=lambda one: (-one.runs, one.value))


def _condition(name: str, value: object) -> str | None:
    if value is None:
        return f"{name}={NOTHING}"
    text = str(value)
    if _PLAIN.fullmatch(text) and text not in _WORDS:
        return f"{name}={text}"
    quotes = [quote for quote in "\"'" if quote not in text]
    return f"{name}={quotes[0]}{text}{quotes[0]}" if quotes else None
