"""Untrusted scenarios give a plan or a ScenarioError, in bounded time."""

from __future__ import annotations

import shutil
from pathlib import Path

from orchestrator.errors import ScenarioError, UsageError
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from tests.fuzz.conftest import Fuzz
from tests.support.fuzz import EXTENDED, NASTY, PATHS, mutilated

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests/data/fuzz/scenarios"


def test_any_bytes_give_a_scenario_or_a_scenario_error(fuzz: Fuzz, tmp_path: Path) -> None:
    # A copy of everything, as scenarios name files beside them.
    folder = Path(shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios"))
    (tmp_path / "playbooks").mkdir()
    shutil.copy(ROOT / "playbooks/inventory.example.yml", tmp_path / "playbooks")
    shutil.copytree(CORPUS, folder / "corpus")
    files = sorted(folder.rglob("*.yaml"))
    planned = refused = 0
    for draw in fuzz:
        file = draw.choice(files)
        whole = file.read_bytes()
        text = whole.decode() + (EXTENDED if draw.random() < 0.3 else "")
        for _ in range(draw.choice([1, 1, 2, 4])):
            text = mutilated(draw, text)
        path = f"{draw.choice(PATHS.split())}={draw.choice(NASTY)}"
        overrides = [mutilated(draw, path)] if draw.random() < 0.3 else []
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        said = ""
        try:
            plan(load(file, overrides, reduced=draw.random() < 0.2))
            planned += 1
        except (ScenarioError, UsageError) as error:
            said = str(error)
            refused += 1
        assert "\x1b" not in said
        file.write_bytes(whole)
    assert planned > 0
    assert refused > 0
