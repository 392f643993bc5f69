"""Shipped scenario files: all can be planned, and those of papers name their paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.planning.identity import experiment_sha256
from orchestrator.planning.network import network_json
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

SHIPPED = Path(__file__).resolve().parents[3] / "scenarios"
FOLDER = SHIPPED / "papers"
CLAIMS = FOLDER / "claims"  # no scenarios: see tests/unit/reproduction/test_claims.py
ALL = sorted(path for path in SHIPPED.rglob("*.yaml") if path.parent != CLAIMS)
FILES = [path for path in ALL if FOLDER in path.parents]


def test_there_are_scenarios() -> None:
    assert FILES
    assert set(FILES) < set(ALL)


@pytest.mark.slow
@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(SHIPPED)))
def test_a_scenario_is_planned_and_its_network_comes_back_from_its_json(path: Path) -> None:
    # Both in one test: to plan every repetition of a paper's scenario takes long.
    runs = plan(load(path)).runs
    assert runs
    network = runs[0].network
    document = json.loads(json.dumps(network_json.encode(network), allow_nan=False))
    again = network_json.decode(document)
    assert network_json.encode(again) == network_json.encode(network)
    assert again.links == network.links or any(
        channel.loss is not None for link in network.links
        for channel in (link.forward, link.reverse)
    )  # fmt: skip


def test_an_example_changes_each_property_of_a_link_that_it_explains() -> None:
    changed: dict[str, set[str]] = {}
    for path in sorted((SHIPPED / "tutorial").glob("*.yaml")):
        for event in load(path).scenario.events:
            for key in event.model_fields_set:
                changed.setdefault(key, set()).add(path.name[:2])
    assert {"rate", "delay", "queue"} <= {key for key, by in changed.items() if "50" in by}
    assert {"reordering", "jitter", "corruption", "loss"} <= {
        key for key, by in changed.items() if "55" in by
    }
    assert {"state", "reroute"} <= set(changed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_papers_scenario_names_its_paper(path: Path) -> None:
    comment = path.read_text(encoding="utf-8").partition("version:")[0]
    assert '"' in comment
    assert any(year in comment for year in map(str, range(1991, 2013))), comment


DRAWN = [path for path in FILES if "\nfigures:\n" in path.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("path", DRAWN, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_papers_figures_are_valid_in_both_forms_and_change_no_run(path: Path) -> None:
    for reduced in (False, True):
        loaded = load(path, reduced=reduced)  # refuses figures of what the scenario does not have
        assert loaded.scenario.figures
        without = load(path, ("figures=[]",), reduced=reduced)
        assert experiment_sha256(without) == experiment_sha256(loaded)
        assert [variant.values for variant in without.variants] == [
            variant.values for variant in loaded.variants
        ]


def test_most_papers_scenarios_say_what_the_paper_shows() -> None:
    of_papers = [path for path in FILES if path.parent.name != "closed-forms"]
    assert len(DRAWN) > 0.75 * len(of_papers)


def test_the_table_of_figures_names_every_file() -> None:
    table = (SHIPPED / "README.md").read_text(encoding="utf-8")
    files = [path for path in FILES if path.parent.name != "closed-forms"]
    assert not [path for path in files if f"(papers/{path.relative_to(FOLDER)})" not in table]
