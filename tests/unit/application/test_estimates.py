"""Commands estimate wall times by earlier runs of the store, and say by how many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.errors import StoreError
from orchestrator.execution import costing
from orchestrator.planning.costs.learning import Estimate, Estimator, least_certain
from tests.support.reproduce import WORDS, paper, reproduce, state, vary
from tests.support.run import KERNEL, FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch, fake: FakeRunner) -> None:
    """A kernel with a hash, by which runs are known again, and runs of a minute each."""
    fake.wall_s = 60.0
    use("k1", monkeypatch)
    monkeypatch.setattr("orchestrator.cli.render.status_line.PLAIN_PERIOD_S", 0.0)


def use(linux_sha256: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = {"linux_sha256": linux_sha256}
    made = GuestKernel(KERNEL.key, KERNEL.linux, KERNEL.modules_dir, KERNEL.release, manifest)
    monkeypatch.setattr("guest.build.ensure", lambda confine, progress, choice=None: made)
    monkeypatch.setattr("guest.build.find", lambda: made)


def planned(*words: str) -> dict[str, Any]:
    result = orchestrator("reproduce", "--plan", "--json", *words, *WORDS)
    assert result.exit_code == 0, result.stderr
    (experiment,) = json.loads(result.stdout)["experiments"]
    return dict(experiment)


def each_s() -> list[float]:
    """The estimate by ``plan`` of a run of each variant of the paper's experiment."""
    words = ("plan", "papers/sweep.yaml", "--json", "--db", "runs.db")
    runs = json.loads(orchestrator(*words).stdout)["runs"]
    assert len(runs) == 2
    return [run["estimated_wall_s"] for run in runs]


def test_the_status_line_says_from_how_many_runs_it_knows_the_time_left() -> None:
    first = orchestrator("run", "pair.yaml", "--repetitions", "3")
    assert " left" in first.stderr
    assert "earlier" not in first.stderr
    again = orchestrator("run", "pair.yaml", "--repetitions", "4")
    assert " left (from 3 earlier runs)" in again.stderr
    assert "from constants" not in orchestrator("plan", "pair.yaml", "--json").stdout
    assert (
        "from 7 earlier runs of the same variant here" in orchestrator("plan", "pair.yaml").stdout
    )


def test_another_kernel_and_an_unreadable_store_leave_the_constants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orchestrator("run", "pair.yaml", "--repetitions", "3")
    with monkeypatch.context() as other:
        use("k2", other)
        text = orchestrator("run", "pair.yaml", "--repetitions", "3").stderr
        assert " left" in text
        assert "earlier" not in text

    def unreadable(_db: Path, _kernel: str | None) -> Estimator:
        raise StoreError("a row is damaged")

    monkeypatch.setattr(costing, "estimator", unreadable)
    result = orchestrator("run", "pair.yaml", "--repetitions", "3")
    assert result.exit_code == 0
    assert "earlier" not in result.stderr


@pytest.mark.slow
def test_a_plan_of_a_paper_says_what_is_missing_and_how_long_it_takes(paper: FakeRunner) -> None:
    state("2.24")  # three repetitions leave the long queue's row open
    before = planned("paper:W1.1")
    assert before["estimated_from"] == {"source": "constants", "runs": 0}
    assert (before["missing"], before["minutes_missing"]) == (6, before["minutes_least"])
    assert before["minutes_least"] < 1
    reproduce("paper:W1.1", "--reduced")  # one variant of another experiment with the same name
    known = planned("paper:W1.1")
    assert known["estimated_from"]["source"] == "scenario"
    assert known["missing"] == 6
    assert known["minutes_missing"] > before["minutes_missing"]
    reproduce("paper:W1.1")
    after = planned("paper:W1.1")
    assert after["estimated_from"] == {"source": "same", "runs": 3}  # the other variant has seven
    assert (after["missing"], after["minutes_missing"]) == (0, 0.0)
    assert after["minutes_least"] == pytest.approx(3 * sum(each_s()) / 60, abs=0.06)
    assert after["minutes_least"] > 4  # each takes a minute, and would take seconds by constants
    assert len(paper.asked) == 3


@pytest.mark.slow
def test_the_text_of_such_a_plan_says_from_how_many_runs(paper: FakeRunner) -> None:
    text = orchestrator("reproduce", "paper:W1.1", "--plan", *WORDS).stdout
    assert text.splitlines()[2].split()[-2:] == ["6", "none"]
    missing_s = planned("paper:W1.1")["minutes_missing"] * 60
    assert text.endswith(f"6 runs are not stored yet: about {missing_s:.0f} s\n")
    paper.failed.add(1)  # the seed of the first repetition
    reproduce("paper:W1.1")
    text = orchestrator("reproduce", "paper:W1.1", "--plan", *WORDS).stdout
    assert text.splitlines()[2].endswith("2   2 of each variant")
    assert text.endswith(f"2 runs are not stored yet: about {sum(each_s()) / 60:.1f} min\n")
    paper.failed.clear()
    reproduce("paper:W1.1")
    text = orchestrator("reproduce", "paper:W1.1", "--plan", *WORDS).stdout
    assert text.endswith("all runs that are made at first are stored\n")


@pytest.mark.usefixtures("paper")
def test_the_cost_of_deciding_is_that_of_earlier_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    vary(monkeypatch, 0.3)
    _status, found = reproduce("paper:W1.1")
    cost = found["W1.1"]["cost"]
    assert cost["minutes"] == pytest.approx(cost["runs"] * each_s()[1] / 60, rel=0.01)
    assert cost["minutes"] > cost["runs"] / 2  # each takes a minute


def test_the_least_certain_estimate_counts() -> None:
    same, few = Estimate(1.0, "same", 1), Estimate(2.0, "scenario", 7)
    assert least_certain([same, few, Estimate(3.0, "scenario", 5)]).wall_s == 3.0
    assert least_certain([few, Estimate(0.1, "constants", 0), same]).source == "constants"
    with pytest.raises(ValueError, match="empty"):
        least_certain([])
