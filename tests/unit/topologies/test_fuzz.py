"""Damaged scenarios of every topology give a plan that can be drawn, or a ScenarioError."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.drawing import draw
from tests.support.fuzz import check_faults, mutilated, outcome

TUTORIAL = Path(__file__).parents[3] / "scenarios" / "tutorial"


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(TUTORIAL.glob("1*.yaml")), ids=lambda file: file.stem)
def test_any_topology_gives_a_plan_or_a_scenario_error(tmp_path: Path, file: Path) -> None:
    draw_from = random.Random(file.stem)
    broken, again = tmp_path / "x.yaml", tmp_path / "again.yaml"
    text = file.read_text()
    for graph in TUTORIAL.glob("*.graphml"):
        shutil.copy(graph, tmp_path)
    planned = 0
    for _ in range(60):
        broken.write_bytes(mutilated(draw_from, text).encode())
        runs, faults = outcome(broken, [])
        assert bool(runs) != bool(faults)
        check_faults(faults, broken)
        for run in runs[:1]:
            planned += 1
            assert draw(run.network, run.scenario_name).startswith("<svg ")
            again.write_text(json.dumps(run.resolved))
            (same,) = plan(load(again)).runs
            assert (same.flows, same.network) == (run.flows, run.network)
            assert same.resolved == run.resolved
    assert planned
