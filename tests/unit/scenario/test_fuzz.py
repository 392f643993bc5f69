"""Damaged scenarios give a plan or a ScenarioError, never another exception."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from tests.support.fuzz import EXTENDED, NASTY, PATHS, check_faults, mutilated, outcome

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_text_gives_a_plan_or_a_scenario_error(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    file, again = tmp_path / "x.yaml", tmp_path / "again.yaml"
    text = QUICKSTART.read_text()
    planned = 0
    for _ in range(150):
        file.write_bytes(mutilated(draw, draw.choice([text, text + EXTENDED])).encode())
        override = mutilated(draw, f"{draw.choice(PATHS.split())}={draw.choice(NASTY)}")
        runs, faults = outcome(file, [override] if draw.random() < 0.3 else [])
        assert bool(runs) != bool(faults)
        check_faults(faults, file)
        for run in runs[:1]:
            planned += 1
            again.write_text(json.dumps(run.resolved))
            (same,) = plan(load(again)).runs
            assert (same.flows, same.network, same.windows) == (run.flows, run.network, run.windows)
            assert same.resolved == run.resolved
    assert planned > 5
