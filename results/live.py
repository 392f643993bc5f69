"""What is known of a run in progress: one small file beside the store, until the run ends.

The process that executes the run replaces the file in one step. So a reader always finds a whole
one. No digest, metric or stored run depends on it. A file whose process was killed is removed when
the store is next opened for writing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST_BYTES = 256 * 1024
"""Limit of a file. One that would be larger is not written."""

_SUFFIX = "-live"
_KIND = ".json"


def folder(db: Path) -> Path:
    """Return the folder of the runs in progress of a store. It exists only while there are any."""
    return db.with_name(db.name + _SUFFIX)


def write(db: Path, run_id: str, document: dict[str, Any]) -> None:
    """Replace what is known of a run; nothing happens when it cannot be written.

    Raises:
        ValueError: the document has a number that is not finite.
    """
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST_BYTES:
        return
    place = _file(db, run_id)
    new = place.with_suffix(".new")
    with contextlib.suppress(OSError):  # a full disk must not end the run
        place.parent.mkdir(exist_ok=True)
        new.write_bytes(text)
        new.replace(place)


def read(db: Path, run_id: str) -> str | None:
    """Return what is known of a run, as JSON; None when there is nothing valid."""
    try:
        descriptor = os.open(
            _file(db, run_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            text = file.read(MOST_BYTES + 1)
            document = json.loads(text) if len(text) <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
    return json.dumps(document) if isinstance(document, dict) else None


def remove(db: Path, run_id: str) -> None:
    """Remove what is known of a run that has ended."""
    _remove(db, [_file(db, run_id), _file(db, run_id).with_suffix(".new")])


def stale(db: Path, running: Iterable[str]) -> list[Path]:
    """Return the files of runs that are not running.

    Call it in a transaction that lists the running ones, so that no run begins meanwhile.
    """
    try:
        found = list(folder(db).iterdir())
    except OSError:
        return []
    kept = set(running)
    return [file for file in found if file.name.partition(".")[0] not in kept]


def remove_stale(db: Path, found: Iterable[Path]) -> None:
    """Remove the files that ``stale`` has found."""
    _remove(db, found)


def _file(db: Path, run_id: str) -> Path:
    return folder(db) / (run_id + _KIND)


def _remove(db: Path, files: Iterable[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink()
    with contextlib.suppress(OSError):  # it still has files of other runs, or is not there
        folder(db).rmdir()
