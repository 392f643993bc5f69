"""``orchestrator bisect``: which commits are built and run, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from guest.build import GuestKernel
from guest.choice import KernelChoice
from orchestrator.application.kernels import bisect as use_case
from orchestrator.errors import KernelBuildError
from results.experiment.expectations import Expectation, ExpectationResult
from results.experiment.experiments import Experiment
from results.store.store import Store
from tests.support.history import History
from tests.support.run import KERNEL, FakeRunner, fake, orchestrator

__all__ = ["fake"]

COUNT, FIRST_BAD = 20, 13
EXPECTED = "{metric: goodput_bps, flow: one, above: 5mbit}"


class Planted:
    """A history with a bad commit, kernels that need no build, and values by commits."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder)
        for number in range(COUNT):
            self.history.commit("net/tcp.c", f"change {number}")
        self.broken: set[int] = set()
        self.noisy_until = 0
        self.built: list[int] = []

    def number(self, commit: str | None) -> int:
        return self.history.commits.index(str(commit))

    def ensure(self, _confine: object, _progress: object, choice: KernelChoice) -> GuestKernel:
        number = self.number(choice.revision)
        self.built.append(number)
        if number in self.broken:
            raise KernelBuildError("make ARCH=um linux failed", "see the log")
        return replace(KERNEL, key=f"k{number}", manifest={"inputs": {"source": f"git:{number}"}})

    def evaluate(
        self, store: Store, experiment: Experiment, expectations: Sequence[Expectation]
    ) -> list[ExpectationResult]:
        (one,) = expectations
        row = experiment.rows[0]
        number = self.number(store.load(row.id).head.resolved["kernel"]["revision"])
        n = len(experiment.rows)
        wide = n < self.noisy_until
        mean = 9e6 if number < FIRST_BAD else 4e6
        low, high = (1e6, 12e6) if wide else (mean - 1e5, mean + 1e5)
        met = low > 5e6
        return [
            ExpectationResult(one.text, one.metric, one.flow, {}, "mean", mean, low, high, n,
                              None if met else "its interval is too low", high < 5e6)
        ]  # fmt: skip


@pytest.fixture
def planted(fake: FakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    made = Planted(tmp_path / "linux")
    monkeypatch.setattr("guest.build.ensure", made.ensure)
    monkeypatch.setattr("guest.build.inputs_known", lambda choice: None)
    monkeypatch.setattr(use_case, "evaluate", made.evaluate)
    return made


def words(planted: Planted, *more: str) -> list[str]:
    first, last = planted.history.commits[0], planted.history.commits[-1]
    tree = str(planted.history.path)
    return ["bisect", "pair.yaml", "--tree", tree, "--good", first, "--bad", last, "--quiet",
            "--expect", EXPECTED, *more]  # fmt: skip


@pytest.fixture(autouse=True)
def _tree_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "linux").mkdir()


@pytest.mark.slow
def test_the_first_bad_commit_is_found_with_its_two_sides(
    planted: Planted, fake: FakeRunner
) -> None:
    planted.broken = {9, 10}
    done = orchestrator(*words(planted, "--json"))
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["first_bad"] == planted.history.commits[FIRST_BAD]
    assert (found["author"], found["subject"]) == ("a", f"change {FIRST_BAD}")
    verdicts = {planted.number(step["commit"]): step["verdict"] for step in found["steps"]}
    assert len(verdicts) <= 9
    for number, verdict in verdicts.items():
        wanted = "skip" if number in planted.broken else "bad" if number >= FIRST_BAD else "good"
        assert verdict == wanted
    with Store.open_read_only(Path("results/runs.db")) as store:
        good, bad = (store.load(found[side]) for side in ("good_run", "bad_run"))
        revisions = [run.head.resolved["kernel"]["revision"] for run in (good, bad)]
    assert revisions == planted.history.commits[FIRST_BAD - 1 : FIRST_BAD + 1]
    assert good.row.seed == bad.row.seed

    ran = len(fake.asked)
    again = orchestrator(*words(planted))
    assert f"first bad commit: {planted.history.commits[FIRST_BAD]}" in again.stdout
    assert f"change {FIRST_BAD} (a)" in again.stdout
    assert f"diff {found['good_run']} {found['bad_run']}" in again.stdout
    assert len(fake.asked) == ran, "what is stored is not run again"


@pytest.mark.slow
def test_a_commit_gets_more_seeds_until_it_is_decided(planted: Planted) -> None:
    planted.noisy_until = 12
    found = json.loads(orchestrator(*words(planted, "--json")).stdout)
    assert {len(step["runs"]) for step in found["steps"]} == {12}
    planted.noisy_until = 100
    done = orchestrator(*words(planted, "--most", "6"))
    assert done.exit_code == 2
    assert "is skip, not good: 6 runs do not decide" in done.stderr


@pytest.mark.slow
def test_commits_that_hide_the_first_bad_one_are_listed(planted: Planted) -> None:
    planted.broken = {FIRST_BAD - 1}
    done = orchestrator(*words(planted))
    assert done.exit_code == 1
    assert "not decided: one of these" in done.stdout
    for number in (FIRST_BAD - 1, FIRST_BAD):
        assert f"  {planted.history.commits[number]}\n" in done.stdout
    assert "it does not build: make ARCH=um linux failed" in done.stdout


@pytest.mark.slow
def test_ends_that_are_not_as_they_are_said_to_be_are_refused(planted: Planted) -> None:
    commits = planted.history.commits
    wrong = words(planted)
    wrong[wrong.index("--bad") + 1] = commits[FIRST_BAD - 1]
    done = orchestrator(*wrong)
    assert done.exit_code == 2
    assert "is good, not bad" in done.stderr
    wrong = words(planted, "--path", "docs")
    done = orchestrator(*wrong)
    assert done.exit_code == 2
    assert "no commit in between changes what --path names" in done.stderr
    done = orchestrator(*words(planted)[:-2])
    assert done.exit_code == 2
    assert "pair.yaml expects nothing" in done.stderr
