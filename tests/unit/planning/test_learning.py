"""Estimates of wall time follow what earlier runs took."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from orchestrator.planning.costs.estimate import Costs, costs, wall_s
from orchestrator.planning.costs.learning import EarlierRun, Estimator, fitted, identity
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
TRUE = (0.5, 1.5, 2.0, 1.0)
"""Factors of a machine that is made up."""


def run(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, overrides)).runs[0]


def taken_s(of_run: Costs) -> float:
    parts = (of_run.start_s, of_run.packets_s, of_run.samples_s, of_run.changes_s)
    return sum(a * b for a, b in zip(TRUE, parts, strict=True))


def drawn(draw: random.Random) -> Costs:
    return Costs(draw.uniform(1.5, 3), *(10 ** draw.uniform(-2, 1) for _ in range(3)))


def history(number: int, noise: float = 0.0, seed: int = 1) -> list[EarlierRun]:
    draw = random.Random(seed)
    made = [drawn(draw) for _ in range(number)]
    return [
        EarlierRun(f"s{index}", (f"e{index}", "[]"), each, taken_s(each) * draw.gauss(1, noise))
        for index, each in enumerate(made)
    ]


def test_without_history_the_constants_are_the_estimate() -> None:
    planned = run()
    found = Estimator()(planned)
    assert (found.wall_s, found.source, found.runs) == (wall_s(planned), "constants", 0)
    assert costs(planned).total_s == wall_s(planned)


def test_one_run_of_the_same_variant_is_the_estimate_nearly() -> None:
    planned = run()
    one = EarlierRun("quickstart", identity(planned), costs(planned), 3 * wall_s(planned))
    found = Estimator([one])(planned)
    assert (found.source, found.runs) == ("same", 1)
    assert found.wall_s == pytest.approx(one.seconds, rel=0.1)
    # Another duration makes it another experiment.
    assert Estimator([one])(run("duration=120s")).source == "scenario"


def test_runs_that_differ_in_the_seed_alone_share_their_identity() -> None:
    planned = plan(load(QUICKSTART, ["repetitions=3"])).runs
    assert len({identity(each) for each in planned}) == 1


def test_other_runs_teach_what_each_part_costs_here() -> None:
    factors = fitted(history(40, noise=0.1))
    assert factors == pytest.approx(TRUE, rel=0.2)
    estimator = Estimator(history(40, noise=0.1))
    draw = random.Random(2)
    for _ in range(20):
        of_run = drawn(draw)
        found = estimator.estimate("new", ("new", "[]"), of_run)
        assert (found.source, found.runs) == ("machine", 40)
        assert found.wall_s == pytest.approx(taken_s(of_run), rel=0.2)


def test_outliers_change_little() -> None:
    good = history(30, noise=0.05)
    slow = [
        EarlierRun(each.scenario, each.identity, each.costs, 8 * each.seconds)
        for each in history(5, seed=9)
    ]
    assert fitted([*good, *slow]) == pytest.approx(fitted(good), rel=0.25)


def test_factors_are_bounded() -> None:
    mad = [
        EarlierRun(each.scenario, each.identity, each.costs, 1000 * each.seconds)
        for each in history(10)
    ]
    assert max(fitted(mad)) == 5.0
    assert min(fitted([EarlierRun("s", ("e", ""), Costs(1, 1, 1, 1), 1e-6)] * 3)) >= 0.2
    broken = [
        EarlierRun("s", ("e", ""), Costs(1, 1, 1, 1), value) for value in (0.0, -1.0, float("nan"))
    ]
    assert Estimator(broken).estimate("s", ("e", ""), Costs(1, 1, 1, 1)).source == "constants"


def test_a_hundred_repetitions_count_as_one_scenario() -> None:
    many = [EarlierRun("long", ("long", "[]"), Costs(1.5, 5, 0.1, 0), 20.0)] * 100
    few = history(20)
    assert fitted([*few, *many]) == pytest.approx(fitted([*few, many[0]]))


def test_a_scenario_corrects_its_other_variants() -> None:
    others = history(20)
    of_run = Costs(1.6, 4.0, 0.5, 0.0)
    lossy = [EarlierRun("lossy", ("x", str(n)), of_run, 0.4 * taken_s(of_run)) for n in range(4)]
    found = Estimator([*others, *lossy]).estimate("lossy", ("x", "new"), of_run)
    assert (found.source, found.runs) == ("scenario", 4)
    assert found.wall_s == pytest.approx(0.4 * taken_s(of_run), rel=0.3)
    other = Estimator([*others, *lossy]).estimate("other", ("x", "new"), of_run)
    assert other.wall_s > 1.5 * found.wall_s


def test_the_median_of_the_same_runs_withstands_a_busy_moment() -> None:
    planned = run()
    seconds = [2.0, 2.1, 1.9, 2.0, 14.0]
    same = [
        EarlierRun("quickstart", identity(planned), costs(planned), second) for second in seconds
    ]
    assert Estimator(same)(planned).wall_s == pytest.approx(2.0, rel=0.05)


def test_only_the_newest_of_the_same_runs_count() -> None:
    planned = run()
    seconds = [1.0] * 10 + [9.0] * 90
    same = [
        EarlierRun("quickstart", identity(planned), costs(planned), second) for second in seconds
    ]
    found = Estimator(same)(planned)
    assert found.runs == 10
    assert found.wall_s == pytest.approx(1.0, rel=0.15)
