"""The papers' scenario files: each can be planned, and names its paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.planning.plan import plan
from orchestrator.scenario import load

FOLDER = Path(__file__).resolve().parents[3] / "scenarios" / "papers"
FILES = sorted(FOLDER.rglob("*.yaml"))


def test_there_are_scenarios() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_papers_scenario_can_be_planned_and_names_its_paper(path: Path) -> None:
    assert plan(load(path)).runs
    comment = path.read_text(encoding="utf-8").partition("version:")[0]
    assert '"' in comment
    assert any(year in comment for year in map(str, range(1991, 2013))), comment


def test_the_table_of_figures_names_every_file() -> None:
    table = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    files = [path for path in FILES if path.parent.name != "closed-forms"]
    assert not [path for path in files if f"(papers/{path.relative_to(FOLDER)})" not in table]
