"""The commands that print what a page shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from results import DEFAULT_DB
from results.runs.page import PageRequest
from results.store.stored import StoredRun
from results.traces.choice import TraceNeed
from results.traces.pictures.needs import zoom_arguments


def command(arguments: Sequence[str], db: Path) -> str:
    """Return the command with these arguments, which names the store unless it is the usual one."""
    return shlex.join(
        ["orchestrator", *arguments, *(["--db", str(db)] if db != DEFAULT_DB else [])]
    )


def runs(request: PageRequest, db: Path) -> str | None:
    """Return the command that lists the runs; None if words were searched, as it has none."""
    if request.words.strip():
        return None
    arguments = ["runs"]
    arguments += [word for condition in request.where for word in ("--where", condition)]
    arguments += ["--status", request.status] if request.status else []
    # With =, as an order may begin with a minus.
    arguments += [f"--sort={request.sort}"] if request.sort else []
    return command(arguments, db)


def explain(run: StoredRun, db: Path) -> str:
    """Return the command that says what happened in a run, and keeps a trace that shows it."""
    return command(["explain", run.id], db)


def diff(one: StoredRun, other: StoredRun, db: Path) -> str:
    """Return the command that finds where two runs part, and keeps traces that show it."""
    return command(["diff", one.id, other.id], db)


def zoom(run: StoredRun, need: TraceNeed, db: Path) -> str:
    """Return the command that makes a trace of a run which shows what is needed."""
    return command(zoom_arguments(run, need), db)
