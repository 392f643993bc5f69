"""Finds what this machine lacks for experiments, by back end, with the fixes.

Each back end examines its own part.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator import backends
from orchestrator.backends.contract import Examination, Finding
from orchestrator.errors import StoreError
from results.contract import housekeeping as contract
from results.schema import database

STORE_BYTES = 100 * 1000**2
"""Free space needed for the store; a large run takes some tens of megabytes."""


@dataclass(frozen=True)
class Diagnosis:
    """Findings of each back end by its name, and of what all back ends need."""

    backends: dict[str, Examination]
    common: list[Finding]

    @property
    def ok(self) -> bool:
        """Whether runs can start on this machine.

        If a back end was requested, only that one counts. Otherwise one back end must be ready, and
        the default one must not lack anything if it is set up. Back ends whose beds run on other
        hosts do not count, because those hosts were not examined.
        """
        here = {
            name: findings
            for name, findings in self.backends.items()
            if not backends.traits(name).on_other_hosts
        }
        ready = any(examined.ready for examined in (here or self.backends).values())
        default = self.backends.get(backends.DEFAULT)
        whole = default is None or default.ready or bool(default.absent)
        return ready and whole and all(finding.ok for finding in self.common)

    def document(self) -> dict[str, Any]:
        """Return the JSON contract of ``doctor``."""
        by_backend = [(name, examined.findings) for name, examined in self.backends.items()]
        return contract.Diagnosis.model_construct(
            ok=self.ok,
            backends={name: examined.state for name, examined in self.backends.items()},
            findings=[
                contract.Finding.model_construct(None, backend=name, **vars(finding))
                for name, findings in [*by_backend, ("", self.common)]
                for finding in findings
            ],
        ).document()


def diagnose(db: Path, only: str | None = None) -> Diagnosis:
    """Examine what runs need, on all back ends or on ``only`` one.

    ``db`` is the results store.
    """
    names = backends.MODULES if only is None else (only,)
    by_backend = {name: backends.examine(name) for name in names}
    if only is not None and by_backend[only].absent:  # it was requested
        lacking = Finding("set up", False, by_backend[only].absent, "see docs/machines.md")
        by_backend[only] = Examination([lacking, *by_backend[only].findings])
    return Diagnosis(by_backend, [_store(db)])


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
    if not fix and db.exists():
        detail, fix = _opened(db, detail)
    return Finding("results store", not fix, detail, fix)


def _opened(db: Path, detail: str) -> tuple[str, str]:
    """Return the detail and no fix if other commands can open the store, else why not and a fix."""
    try:
        database.open_read_only(db).close()
    except StoreError as error:
        reason, _, fix = str(error).partition("\n  fix: ")
        return reason, fix or "name another database with --db or ORCHESTRATOR_DB"
    return detail, ""


def _existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(part for part in (path, *path.parents) if part.exists())
