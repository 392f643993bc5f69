"""A store with an experiment whose summary is known."""

from __future__ import annotations

from click.testing import CliRunner, Result

from orchestrator.cli import commands

LIMIT = "topology.bottleneck.queue.limit"


def two(variant: object, repetition: int) -> dict[str, float]:
    return {"one": 1.0e6 + 1e4 * repetition**2, "two": 3.0e6 - 5e4 * repetition}


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, ["--debug", *words])
