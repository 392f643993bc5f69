"""A paper with a claim, whose runs are pretended."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from results.claims import values
from results.claims.stated.model import Quantity
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.identity import TEXT
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]


CLAIMS = """\
title: A. Author, "A paper", 2004
experiments:
  sweep:
    scenario: sweep.yaml
    quick: {least: 3, most: 9}
    full: {set: [duration=4s], least: 4}
claims:
  W1:
    says: One is slow, and faster with a longer queue.
    figures:
      - {of: [W1.1], title: one}
    statements:
      - id: W1.1
        says: One has its goodput.
        place: Table I
        relation: value
        tolerance: 10%
        reason: why not
        unit: Mbit/s
        of: {experiment: sweep, metric: goodput_bps, flows: [one], scale: 1.0e-6}
        cases:
          - {label: short, of: {where: {limit: 10p}}, paper: 1.0}
          - {label: long, of: {where: {limit: 20p}}, paper: PAPER}
      - id: W1.2
        says: The queue helps.
        place: Fig. 1
        relation: ordering
        tolerance: 0
        reason: the direction is stated
        cause: The cable is short.
        of: {experiment: sweep, metric: goodput_bps, flows: [one]}
        compare: [{name: long, of: {where: {limit: 20p}}}, {name: short, of: {where: {limit: 10p}}}]
    ablations:
      - name: cable
        says: The cable is longer.
        asks: It tells whether the cable matters.
        of: [W1.1]
        set: [topology.bottleneck.delay=7ms]
        least: 2
  W2:
    says: It is seen in the air.
    statements:
      - {id: W2.1, says: Radio waves shine., place: Fig. 2, cannot: There is no air.}
"""


WORDS = ("--claims", "papers/claims", "--db", "runs.db")


@pytest.fixture
def paper(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    """Goodputs near 1 Mbit/s with the short queue, and 2 with the long one, which varies more."""
    vary(monkeypatch, 0.12)
    Path("papers/claims").mkdir(parents=True)
    Path("papers/sweep.yaml").write_text(
        f"{TEXT}reduced: {{duration: 1s, matrix.topology.bottleneck.queue.limit: [10p]}}\n"
    )
    state("2.0")
    return fake


def vary(monkeypatch: pytest.MonkeyPatch, most: float) -> None:
    """Let goodputs with the long queue be up to ``most`` Mbit/s from 2, and 0.01 from 1."""

    def value(run: StoredRun, quantity: Quantity) -> float:
        wide = "20p" in run.row.variant.values()
        off = random.Random(f"{run.row.seed} {wide}").uniform(-1, 1)
        return (2 + most * off if wide else 1 + 0.01 * off) * (quantity.scale or 1e-6) * 1e6

    monkeypatch.setattr(values, "value", value)


def state(number: str) -> None:
    Path("papers/claims/paper.yaml").write_text(CLAIMS.replace("PAPER", number))


def reproduce(*words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit status and the statements by id."""
    result = orchestrator("reproduce", *words, *WORDS, "--json")
    assert result.stdout, result.stderr
    return result.exit_code, {
        statement["id"]: statement for statement in json.loads(result.stdout)["statements"]
    }


def made() -> dict[str, list[int]]:
    """Repetitions by variant."""
    found: dict[str, list[int]] = {}
    with Store.open_read_only(Path("runs.db")) as store:
        for row in store.list_runs():
            found.setdefault(row.variant["topology.bottleneck.queue.limit"], []).append(
                row.repetition
            )
    return found
