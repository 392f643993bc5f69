"""``repetitions: {until: ...}`` makes the runs that its rule asks for, and no others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from orchestrator.scenario import load
from results.experiment import repetitions
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.identity import TEXT
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]

RULE = "{until: {metric: goodput_bps, flow: one, interval: 10%}, least: 3, most: 9}"


@pytest.fixture
def sweep(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    """A scenario of two variants: one varies by a hundredth, the other by a half."""

    def value(run: StoredRun, _rule: object) -> float | None:
        if run.status != "ok" or run.row.verdict == "unfaithful":
            return None
        wide = "20p" in run.row.variant.values()
        return 1 + random.Random(run.row.seed).uniform(-1, 1) * (0.5 if wide else 0.01)

    monkeypatch.setattr(repetitions, "_value", value)
    Path("sweep.yaml").write_text(f"{TEXT}repetitions: {RULE}\n")
    return fake


def made(db: str = "runs.db") -> dict[str, list[int]]:
    """Repetitions by variant."""
    found: dict[str, list[int]] = {}
    with Store.open_read_only(Path(db)) as store:
        for row in store.list_runs():
            (limit,) = row.variant.values()
            found.setdefault(limit, []).append(row.repetition)
            assert row.repetition_rule is not None
            assert row.repetition_rule.interval == 0.1
    return found


@pytest.mark.slow
def test_each_variant_is_repeated_until_its_mean_is_known(sweep: FakeRunner) -> None:
    result = orchestrator("run", "sweep.yaml", "--db", "runs.db")
    assert result.exit_code == 0, result.stderr
    assert made() == {"10p": [0, 1, 2], "20p": list(range(9))}
    assert "6 runs: the rule asks for 6 more runs" in result.stderr
    assert "12 runs: 1 variant reached the most repetitions with a wider interval" in result.stderr
    again = orchestrator("run", "sweep.yaml", "--db", "runs.db", "--resume")
    assert (again.exit_code, len(sweep.asked)) == (0, 2)
    assert sum(map(len, made().values())) == 12


@pytest.mark.slow
def test_runs_that_do_not_count_are_made_up_for(sweep: FakeRunner) -> None:
    spec = orchestrator("plan", "sweep.yaml", "--json")
    assert spec.exit_code == 0
    sweep.verdict[1] = "unfaithful"  # the seed of the first repetition
    assert orchestrator("run", "sweep.yaml", "--db", "runs.db").exit_code == 3
    assert made()["10p"] == [0, 1, 2, 3]


def test_runs_without_a_value_are_counted_and_end_the_rule(
    sweep: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_value = {"10p": {2}, "20p": set(range(4, 9))}

    def value(run: StoredRun, _rule: object) -> float | None:
        (limit,) = run.row.variant.values()
        return 1.0 if run.row.repetition in with_value[limit] else None

    monkeypatch.setattr(repetitions, "_value", value)
    result = orchestrator("run", "sweep.yaml", "--db", "runs.db")
    assert result.exit_code == 0, result.stderr
    # One of three runs has a value: the rule goes on, and ends. None of three has: it stops.
    assert made() == {"10p": list(range(9)), "20p": [0, 1, 2]}
    assert (
        "12 runs: 1 variant reached the most repetitions with a wider interval than asked for; "
        "1 variant without a value of goodput_bps in the first 3 runs, and not repeated further; "
        "11 of the runs without a value that counts"
    ) in result.stderr


def test_a_number_on_the_command_line_replaces_the_rule(sweep: FakeRunner) -> None:
    assert sweep is not None
    assert orchestrator("run", "sweep.yaml", "--db", "2.db", "--repetitions", "2").exit_code == 0
    with Store.open_read_only(Path("2.db")) as store:
        assert [row.repetition_rule for row in store.list_runs()] == [None] * 4
    planned = orchestrator("plan", "sweep.yaml", "--repetitions", "7", "--json")
    assert planned.stdout.count('"repetition":') == 14


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("0", "must be a whole number from 1 to 10000 or a mapping with `until`, not `0`"),
        ("{least: 3}", "`until` is missing: say which mean, or give a number"),
        ("{until: {metric: goodput_bps}}", "`interval` is missing"),
        ("{until: {metric: goodput_bps, interval: 0%}}", "must be above 0"),
        ("{until: {metric: goodput_bps, interval: 1%}, least: 1}", "`least` must be 2 or more"),
        ("{until: {metric: goodput_bps, interval: 1%}, least: 60}", "`least` 60 is above `most`"),
        ("{until: {metric: goodput, interval: 1%}}", "no metric goodput of a run (did you mean"),
        ("{until: {metric: goodput_bps, flow: x, interval: 1%}}", "no flow x; there are one, two"),
        ("{until: {metric: goodput_bps, window: x, interval: 1%}}", "no window x; there are none"),
    ],
)
def test_a_wrong_rule_is_an_error_before_any_run(
    sweep: FakeRunner, rule: str, message: str
) -> None:
    result = orchestrator("run", "sweep.yaml", "--set", f"repetitions={rule}", "--db", "runs.db")
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert not sweep.asked


def test_the_whole_number_of_runs_is_bounded(sweep: FakeRunner) -> None:
    rule = "{until: {metric: goodput_bps, interval: 1%}, most: 6000}"
    result = orchestrator("run", "sweep.yaml", "--set", f"repetitions={rule}")
    assert "2 variants x 6000 repetitions are 12000 runs; 10000 are allowed" in result.stderr
    assert load(Path("sweep.yaml")).scenario.repetitions.most == 9
    assert not sweep.asked
