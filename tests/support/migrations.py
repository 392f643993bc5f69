"""Stores of earlier schemas."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from results.schema.database import MIGRATIONS, newest
from tests.support.run import fake

__all__ = ["fake"]


SECOND = """\
CREATE TABLE remarks (run INTEGER PRIMARY KEY REFERENCES runs, text TEXT NOT NULL);
ALTER TABLE runs ADD COLUMN label TEXT;
"""


def with_another(folder: Path, what: str, text: str) -> Path:
    """Make a folder with the migrations and one more, and return it."""
    shutil.copytree(MIGRATIONS, folder)
    (folder / f"{newest() + 1:04}_{what}.sql").write_text(text)
    return folder


def pragma(path: Path, name: str) -> int:
    connection = sqlite3.connect(path)
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    connection.close()
    return int(value)
