"""Stores of every schema version as SQL text, tests/data/stores, and functions to write it.

Every file holds real runs of a real guest. ``schema-1.sql`` was written by the first version of the
program and ``schema-4.sql`` by the last one before schema 5. No version was released with 2 or 3:
those files are ``schema-1.sql`` after the migrations up to there. ``schema-5.sql`` has checksums,
and ``schema-6.sql`` the evidence that judging needs. It and ``schema-7.sql`` have runs that were
judged again. ``schema-8.sql`` has digests of version 2, and
``schema-9.sql`` is the first with link model 2 and has a flow that iperf3 sends.
``schema-10.sql`` has runs that know their experiment. ``schema-11.sql`` has notes and tags, a run
that was judged again, and a run that was removed. ``schema-12.sql`` has its samples in blocks.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

STORES = Path(__file__).parents[1] / "data" / "stores"


def dump(path: Path) -> str:
    """Return a store as SQL text that recreates it, including the numbers in its header."""
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    pragmas = [
        f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};"
        for name in ("application_id", "user_version")
    ]
    connection.close()
    return "\n".join([*pragmas, *lines]) + "\n"


def restore(name: str, path: Path) -> Path:
    """Make the store that a file of tests/data/stores describes, and return its path."""
    connection = sqlite3.connect(path)
    connection.executescript((STORES / name).read_text(encoding="utf-8"))
    connection.close()
    return path
