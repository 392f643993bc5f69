"""Finds the commit of the running code.

Standard library only: ``hatch_build.py`` loads this file when it builds a wheel or an sdist, and
writes the commit into the package.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
"""The checkout, or the folder that a wheel was installed into."""

RECORD = "orchestrator/commit.txt"
"""File with the commit in a wheel or sdist, below the project."""

NAME = "tcp-orchestrator"
_TIMEOUT_S = 10


def git_commit(project: Path = PROJECT) -> str | None:
    """Return the commit of the code in ``project``; None when it is not known.

    In a checkout of this project it comes from git, with ``+`` when files differ. A wheel or sdist
    contains the commit that it was built from. A repository around an installed wheel is ignored.
    """
    if _is_checkout(project):
        return _git(project, "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*")
    try:
        return (project / RECORD).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _is_checkout(project: Path) -> bool:
    """Return whether the folder is the top of a git work tree of this project."""
    try:
        settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        named = settings["project"]["name"] == NAME
    except (OSError, ValueError, LookupError, TypeError):
        return False
    top = _git(project, "rev-parse", "--show-toplevel")
    return named and top is not None and Path(top).resolve() == project.resolve()


def _git(project: Path, *words: str) -> str | None:
    command = ["git", "-C", str(project), *words]
    try:
        completed = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() or None if completed.returncode == 0 else None
