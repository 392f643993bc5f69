"""The commands that print what a page shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from results import DEFAULT_DB
from results.listing import PageRequest


def command(words: Sequence[str], db: Path) -> str:
    """Return the command of these words, which names the store unless it is the usual one."""
    return shlex.join(["orchestrator", *words, *(["--db", str(db)] if db != DEFAULT_DB else [])])


def runs(wanted: PageRequest, db: Path) -> str | None:
    """Return the command that lists the runs; None if words were searched, as it has none."""
    if wanted.words.strip():
        return None
    words = ["runs"]
    words += [word for one in wanted.where for word in ("--where", one)]
    words += ["--status", wanted.status] if wanted.status else []
    # With =, as an order may begin with a minus.
    words += [f"--sort={wanted.sort}"] if wanted.sort else []
    return command(words, db)
