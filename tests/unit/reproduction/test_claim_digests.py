"""``reproduce`` says which of its runs are equal to those of the committed summaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.reproduce import WORDS, paper, reproduce
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]

MEASURED = Path("papers/claims/measured")


@pytest.fixture
def committed(paper: FakeRunner) -> FakeRunner:
    """A folder of summaries of the claim and its ablation."""
    assert reproduce("--causes", "--write", str(MEASURED))[0] == 0
    return paper


def compared(*words: str) -> list[dict[str, Any]]:
    result = orchestrator("reproduce", *words, *WORDS, "--json")
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)["digests"]
    return found


def text() -> str:
    return orchestrator("reproduce", "paper:W1", *WORDS).stdout


def change(key: str, value: object, file: str = "paper-W1-quick.json") -> None:
    path = MEASURED / file
    document = json.loads(path.read_text())
    document[key] = value
    path.write_text(json.dumps(document))


def runs() -> list[list[Any]]:
    found: list[list[Any]] = json.loads((MEASURED / "paper-W1-quick.json").read_text())["runs"]
    return found


@pytest.mark.usefixtures("committed")
def test_equal_digests_are_counted_of_claims_and_ablations() -> None:
    own, cable = compared("paper", "--causes")
    assert (own["paper"], own["id"], own["ablation"]) == ("paper", "W1", None)
    assert (len(own["equal"]), own["other"], own["absent"]) == (len(runs()), [], [])
    assert (cable["ablation"], cable["other"], cable["absent"]) == ("cable", [], [])
    assert f"paper W1: {len(runs())} of {len(runs())} runs equal to the bit" in text()
    assert "others: " not in text()


@pytest.mark.usefixtures("committed")
def test_a_statement_is_compared_with_the_summary_of_its_claim() -> None:
    (one,) = compared("paper:W1.2")
    assert (len(one["equal"]), one["other"], one["absent"]) == (6, [], [])


@pytest.mark.usefixtures("committed")
def test_another_digest_is_named_with_what_was_built_otherwise() -> None:
    made = runs()
    made[0][5] = "another digest"
    change("runs", made)
    (one,) = compared("paper:W1")
    assert (len(one["equal"]), len(one["other"]), one["changed"]) == (len(made) - 1, 1, [])
    assert f"{len(made) - 1} of {len(made)} runs equal" in text()
    assert f"others: {one['other'][0]}" in text()
    assert "built otherwise" not in text()
    change("linux_sha256", "of another build")
    assert compared("paper:W1")[0]["changed"] == ["linux"]
    assert "built otherwise: linux" in text()


@pytest.mark.usefixtures("committed")
def test_a_run_that_the_summary_lacks_is_no_difference() -> None:
    change("runs", runs()[1:])
    (one,) = compared("paper:W1")
    assert (one["other"], len(one["absent"])) == ([], 1)
    assert "; 1 run more than there" in text()


@pytest.mark.slow
@pytest.mark.usefixtures("committed")
def test_runs_of_another_length_or_set_up_are_not_compared() -> None:
    assert compared("paper:W1", "--full") == []
    file = Path("papers/claims/paper.yaml")
    file.write_text(file.read_text().replace("quick: {least", "quick: {set: [duration=3s], least"))
    assert compared("paper:W1") == []
    assert "equal to the bit" not in text()


def test_a_summary_that_cannot_be_read_is_an_error_before_any_run(paper: FakeRunner) -> None:
    MEASURED.mkdir()
    (MEASURED / "paper-W1-quick.json").write_text("{")
    result = orchestrator("reproduce", "paper:W1", *WORDS)
    assert (result.exit_code, paper.asked) == (2, [])
    assert "paper-W1-quick.json" in result.stderr


@pytest.mark.usefixtures("committed")
def test_a_summary_of_another_link_model_stays_valid_with_equal_digests() -> None:
    assert compared("paper:W1")[0]["link_models"] == []
    assert "link model" not in text()
    change("link_model", 1)
    (one,) = compared("paper:W1")
    assert (len(one["equal"]), one["other"], one["link_models"]) == (len(runs()), [], [1])
    assert "the summary is of link model 1, which stays valid" in text()
    made = runs()
    made[0][5] = "another digest"
    change("runs", made)
    assert compared("paper:W1")[0]["link_models"] == [1]
    assert "stays valid" not in text()


OTHER = """\
experiments:
  other:
    scenario: sweep.yaml
    set: [duration=3s]
    quick: {least: 3, most: 9}
    full: {least: 4}
"""


def two_designs() -> None:
    """Let the second statement have an experiment of its own: the same scenario, set otherwise."""
    file = Path("papers/claims/paper.yaml")
    head, tail = file.read_text().replace("experiments:\n", OTHER).split("      - id: W1.2\n")
    tail = tail.replace("of: {experiment: sweep,", "of: {experiment: other,", 1)
    file.write_text(f"{head}      - id: W1.2\n{tail}")


@pytest.mark.slow
@pytest.mark.usefixtures("paper")
def test_two_experiments_of_one_scenario_are_told_apart() -> None:
    two_designs()
    assert reproduce("--write", str(MEASURED))[0] == 0
    assert {run[6] for run in runs()} == {"sweep", "other"}
    (one,) = compared("paper:W1")
    assert (len(one["equal"]), one["other"], one["absent"]) == (len(runs()), [], [])
    made = runs()
    for run in made:
        if run[6] == "other":
            run[5] = "another digest"
    change("runs", made)
    (one,) = compared("paper:W1")
    assert (len(one["equal"]), len(one["other"])) == (6, 6)


@pytest.mark.usefixtures("paper")
def test_a_summary_of_one_experiment_says_nothing_of_another_one() -> None:
    two_designs()
    assert reproduce("--write", str(MEASURED))[0] == 0
    change("runs", [run[:6] for run in runs() if run[6] == "sweep"])
    document = json.loads((MEASURED / "paper-W1-quick.json").read_text())
    change("experiments", {"sweep": document["experiments"]["sweep"]})
    (one,) = compared("paper:W1")
    assert one["other"] == []
    assert (len(one["equal"]), len(one["absent"])) == (len(runs()), 6)
