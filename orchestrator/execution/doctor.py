"""What this machine lacks for running experiments, by back end, each with its fix.

Each back end examines its own part.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from orchestrator import backends
from orchestrator.backends.contract import Examined, Finding

STORE_BYTES = 100 * 1000**2
"""A large run takes some tens of megabytes of the store."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found: of each back end by its name, and of what all need."""

    backends: dict[str, Examined]
    common: list[Finding]

    @property
    def ok(self) -> bool:
        """Whether runs can start as they are meant to here.

        A back end that is not set up here is no fault, as long as another is ready; nor is it one
        that an optional back end lacks something, but the default one is to be whole. One whose
        beds run on other hosts does not count, unless asked for: those were not looked at.
        """
        here = {
            name: each
            for name, each in self.backends.items()
            if not backends.traits(name).on_other_hosts
        }
        ready = any(examined.ready for examined in (here or self.backends).values())
        default = self.backends.get(backends.DEFAULT)
        whole = default is None or default.ready or bool(default.absent)
        return ready and whole and all(finding.ok for finding in self.common)


def diagnose(db: Path, only: str | None = None) -> Diagnosis:
    """Look at everything that runs need, on any back end or on ``only`` that one.

    ``db`` is the results store.
    """
    names = backends.MODULES if only is None else (only,)
    found = {name: backends.examine(name) for name in names}
    if only is not None and found[only].absent:  # it was asked for
        lacking = Finding("set up", False, found[only].absent, "see docs/real-machines.md")
        found[only] = Examined([lacking, *found[only].findings])
    return Diagnosis(found, [_store(db)])


def _store(db: Path) -> Finding:
    folder = _existing(db.absolute().parent)
    writable = os.access(db if db.exists() else folder, os.W_OK) and os.access(folder, os.W_OK)
    free = shutil.disk_usage(folder).free
    fix = ""
    if not writable:
        fix = "name a database in a folder of your own with --db or ORCHESTRATOR_DB"
    elif free < STORE_BYTES:
        fix = f"make room in {folder}, or name a database elsewhere with --db"
    detail = f"{db}, {free / 1e9:.1f} GB free" if writable else f"{db} cannot be written"
    return Finding("results store", not fix, detail, fix)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(part for part in (path, *path.parents) if part.exists())
