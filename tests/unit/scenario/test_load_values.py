"""Loading a scenario from values, as they are stored: no text, and faults that name paths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from orchestrator.scenario.document import MAX_DEPTH, Scalar, built, find, plain
from orchestrator.scenario.loader import load_values

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def values() -> dict[str, Any]:
    """The quickstart, resolved."""
    return dict(plan(load(SCENARIOS / "quickstart.yaml")).runs[0].resolved)


@pytest.mark.parametrize("name", ["quickstart.yaml", "own-module/own-module.yaml"])
def test_a_resolved_scenario_gives_the_same_run(name: str) -> None:
    (run, *_) = plan(load(SCENARIOS / name)).runs
    loaded = load_values(
        dict(run.resolved), {place: file.content for place, file in run.files.items()}
    )
    (again,) = plan(loaded).runs
    assert (again.resolved, again.network, again.seed) == (run.resolved, run.network, run.seed)
    assert (loaded.text, loaded.sha256) == ("", "")


def test_a_fault_names_the_path_of_the_key() -> None:
    changed = values()
    changed["flows"] = [{**changed["flows"][0], "congestion": {"name": "nothing"}}]
    changed["wrong"] = 1
    with pytest.raises(ScenarioError) as refused:
        load_values(changed, {}, "the plan")
    first, second = map(str, refused.value.faults)
    assert first.startswith("the plan: flows.0.congestion.name: ")
    assert second.startswith("the plan: wrong: ")
    with pytest.raises(ScenarioError, match=r"^stored scenario: name: "):
        load_values({**values(), "name": None}, {})


def test_a_file_that_is_not_stored_is_a_fault() -> None:
    (run, *_) = plan(load(SCENARIOS / "own-module/own-module.yaml")).runs
    with pytest.raises(ScenarioError, match=r"congestion.*is not stored with the scenario"):
        load_values(dict(run.resolved), {})


def test_values_keep_their_types() -> None:
    given = {"a": [1, 1.5, True, None, "1", "\U0001f600"], "b": {"c": math.inf}, "d": [], "e": {}}
    tree, faults = built(given, "values", 1000)
    assert (plain(tree), faults) == (given, [])
    found = find(tree, ("a", 2))
    assert isinstance(found, Scalar)
    assert found.value is True
    assert (found.mark.file, found.mark.line) == ("values: a.2", 0)


def nested(depth: int) -> Any:
    """A list in a list and so on, so many of them."""
    return [nested(depth - 1)] if depth else 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": {"b": "\ud800"}}, "values: a.b: half a character: a lone surrogate is no text"),
        ({"a": [0, 10**40]}, "values: a.1: a number may have 40 digits at most"),
        ({"a": {1: 2}}, "values: a: a key must be text, not `1`"),
        ({"<<": 1}, "values: YAML merge keys (`<<`) are not supported"),
        ({"a": b"x"}, "values: a: a scenario has no values of the type bytes"),
        ({"a\x1b[2J": b""}, "values: a�[2J: a scenario has no values of the type bytes"),
        ({"k" * 90: b""}, f"values: {'k' * 60}…: a scenario has no values of the type bytes"),
        ({"a": "x" * 500, "b": "y" * 600, "c": 1}, "values: b: is larger than 1000 characters"),
        ([1] * 2000, "values: 999: is larger than 1000 characters"),
    ],
    ids=str.split("surrogate digits key merge bytes escape long text items"),
)
def test_what_no_scenario_has_is_a_fault(given: Any, said: str) -> None:
    _tree, faults = built(given, "values", 1000)
    assert [str(fault) for fault in faults] == [said]


def test_the_depth_is_limited_as_in_a_text() -> None:
    assert built(nested(MAX_DEPTH), "values", 1000)[1] == []
    (fault,) = built(nested(MAX_DEPTH + 1), "values", 1000)[1]
    assert fault.message == f"nested deeper than {MAX_DEPTH} levels"
