"""Stores that are merged."""

from __future__ import annotations

from click.testing import CliRunner, Result

from orchestrator.cli import commands


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, list(words))
