"""Intervals cover, tests keep their level, and the number of repetitions is enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from results.statistics import bootstrap, drift, stein
from results.statistics.differences import Difference, holm, paired, two_sided, welch
from results.statistics.estimates import Estimate, deviation_of, estimate, student
from results.statistics.stein import StoppingRule

EXPERIMENTS = 200
RULE = StoppingRule(share=0.02, least=5, most=50)


def holds(found: Estimate | None, mean: float) -> bool:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low <= mean <= found.high


def width_of(found: Estimate | None) -> float:
    assert found is not None
    assert found.half_width is not None
    return found.half_width


def difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    found = paired(a, b)
    assert found is not None
    return found


def test_an_interval_is_that_of_scipy() -> None:
    values = [3.1, 2.9, 3.4, 3.0, 2.8]
    interval = estimate(values)
    assert interval is not None
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert interval.sd == pytest.approx(np.std(values, ddof=1))
    assert interval.half_width == pytest.approx((high - low) / 2)


def test_quantiles_and_p_values_are_those_of_scipy_to_the_bit() -> None:
    draw = np.random.default_rng(1)
    for degrees in (1, 2, 39, 999, *draw.uniform(0.5, 200, 50).tolist()):
        for confidence in (0.5, 0.95, 0.99):
            assert student(confidence, degrees) == stats.t.ppf((1 + confidence) / 2, degrees)
        for t in (0.0, -1.5, 2.0, 40.0, 1e6):
            assert two_sided(t, degrees) == 2 * stats.t.sf(abs(t), degrees)


def test_few_values_have_no_interval() -> None:
    assert estimate([]) is None
    assert estimate([2.0]) == Estimate(2.0, None, None, None, 1)
    assert estimate([0.1] * 7) == Estimate(0.1, 0.1, 0.1, 0.0, 7)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_intervals_hold_the_mean_as_often_as_they_say(n: int) -> None:
    draw = np.random.default_rng(n)
    held = [holds(estimate(draw.normal(7.0, 2.0, n).tolist()), 7.0) for _ in range(EXPERIMENTS)]
    assert 0.92 <= np.mean(held) <= 0.98


def sequence(draw: np.random.Generator, mean: float, sd: float, rule: StoppingRule) -> list[float]:
    """Make repetitions one after another until the rule is content."""
    values: list[float] = []
    while len(values) < stein.required_repetitions(values, rule):
        values.append(float(draw.normal(mean, sd)))
    return values


@pytest.mark.parametrize("deviation", [0.005, 0.02, 0.04])
def test_intervals_of_the_sequential_rule_hold_the_mean(deviation: float) -> None:
    """An ordinary interval that one stops at when it is narrow does not (see below)."""
    draw = np.random.default_rng(3)
    rule = StoppingRule(share=0.02, least=5, most=1000)
    held = [
        holds(stein.stein(sequence(draw, 10.0, 10 * deviation, rule), rule), 10.0)
        for _ in range(EXPERIMENTS)
    ]
    assert 0.92 <= np.mean(held) <= 0.98


def test_looking_until_an_ordinary_interval_is_narrow_is_not_valid() -> None:
    draw = np.random.default_rng(4)
    held = []
    for _ in range(1000):
        values = draw.normal(10.0, 0.5, 3).tolist()
        while width_of(estimate(values)) > 0.2 and len(values) < 1000:
            values.append(float(draw.normal(10.0, 0.5)))
        held.append(holds(estimate(values), 10.0))
    assert np.mean(held) < 0.92


def test_the_interval_of_the_rule_is_as_narrow_as_asked() -> None:
    draw = np.random.default_rng(5)
    for deviation in (0.01, 0.05, 0.1):
        values = sequence(draw, 50.0, 50 * deviation, StoppingRule(0.02, 5, 100_000))
        found = stein.stein(values, StoppingRule(0.02, 5, 100_000))
        assert found is not None
        assert found.half_width is not None
        assert found.half_width <= 0.02 * abs(found.mean) * (1 + 1e-9)


def test_the_rule_has_a_least_and_a_most() -> None:
    assert stein.required_repetitions([], RULE) == 5
    assert stein.required_repetitions([1.0] * 4, RULE) == 5
    assert stein.required_repetitions([1.0] * 5, RULE) == 5  # nothing varies
    assert stein.required_repetitions([1.0, 9.0, 1.0, 9.0, 1.0], RULE) == 50
    assert (
        stein.required_repetitions([-1.0, 1.0, -1.0, 1.0, 0.0], RULE) == 50
    )  # no share of a mean of zero
    assert stein.required_repetitions([1.0, 9.0] * 40, RULE) == 50


def test_the_rule_asks_the_repetitions_in_their_order() -> None:
    """Whatever is known of later ones, so any number of jobs makes the same runs."""
    draw = np.random.default_rng(6)
    for deviation in (0.05, 0.2, 0.5):
        values = draw.normal(10.0, deviation, 80).tolist()
        asked = [stein.required_repetitions(values[:n], RULE) for n in range(80)]
        assert all(here >= before for before, here in pairwise(asked))
        assert set(asked[asked[-1] :]) == {asked[-1]}


def test_a_paired_difference_is_that_of_scipy() -> None:
    draw = np.random.default_rng(7)
    a, b = draw.normal(5, 1, 8), draw.normal(6, 1, 8)
    found = paired(a.tolist(), b.tolist())
    expected = stats.ttest_rel(b, a)
    interval = expected.confidence_interval()
    assert found is not None
    assert (found.mean, found.p) == pytest.approx((np.mean(b - a), expected.pvalue))
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.effect == pytest.approx((1 - 3 / 27) * np.mean(b - a) / np.std(b - a, ddof=1))


def test_differences_without_deviation_have_no_p() -> None:
    assert paired([], []) is None
    assert difference([1.0], [2.0]).p is None
    equal = paired([1.0, 2.0], [1.0, 2.0])
    assert equal is not None
    assert (equal.mean, equal.p, equal.effect) == (0.0, 1.0, 0.0)
    constant = paired([1.0, 2.0], [2.0, 3.0])
    assert constant is not None
    assert (constant.mean, constant.low, constant.p) == (1.0, 1.0, None)
    with pytest.raises(ValueError, match="zip"):
        paired([1.0], [])


def test_a_difference_of_independent_samples_is_that_of_scipy() -> None:
    draw = np.random.default_rng(7)
    a, b = draw.normal(5, 1, 4), draw.normal(6, 3, 9)
    found = welch(a.tolist(), b.tolist())
    expected = stats.ttest_ind(b, a, equal_var=False)
    interval = expected.confidence_interval()
    assert found is not None
    assert (found.mean, found.p) == pytest.approx((np.mean(b) - np.mean(a), expected.pvalue))
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.method, found.n) == ("welch", 0)


def test_two_pairs_are_too_few_for_an_effect() -> None:
    """One degree of freedom: Hedges' correction would show every difference as no effect."""
    few = paired([0.0, 0.0], [1.0, 1.1])
    assert few is not None
    assert few.effect is None
    assert few.p is not None
    more = paired([0.0, 0.0, 0.0], [1.0, 1.1, 1.2])
    assert more is not None
    assert more.effect == pytest.approx((1 - 3 / 7) * 1.1 / 0.1)
    unequal = welch([0.0, 50.0], [100.0, 100.1, 100.2, 100.3])
    assert unequal is not None
    assert unequal.effect is None


@pytest.mark.slow
def test_the_effect_of_independent_samples_is_unbiased() -> None:
    """Means of 0 and 1, variances of 1 and 4: the effect is 1 / sqrt(2.5)."""
    draw = np.random.default_rng(8)
    effects = []
    for _ in range(20_000):
        found = welch(draw.normal(0, 1, 6).tolist(), draw.normal(1, 2, 12).tolist())
        assert found is not None
        effects.append(found.effect)
    assert np.mean(np.asarray(effects, np.float64)) == pytest.approx(1 / math.sqrt(2.5), rel=0.02)


def test_independent_samples_without_deviation_have_no_p() -> None:
    assert welch([], [1.0]) is None
    assert welch([1.0], [2.0, 3.0]) == Difference(1.5, None, None, None, None, 0, "welch")
    assert welch([1.0, 1.0], [1.0, 1.0]) == Difference(0.0, 0.0, 0.0, 1.0, 0.0, 0, "welch")
    assert welch([1.0, 1.0], [3.0, 3.0]) == Difference(2.0, 2.0, 2.0, None, None, 0, "welch")
    found = welch([1.0, 1.0], [3.0, 4.0, 5.0])
    assert found is not None
    low, high = stats.t.interval(0.95, 2, 3.0, stats.sem([3.0, 4.0, 5.0]))
    assert (found.low, found.high) == pytest.approx((low, high))  # one deviates: 3 - 1 degrees


def test_intervals_of_independent_samples_hold_the_difference_as_often_as_they_say() -> None:
    draw = np.random.default_rng(9)
    held = 0
    for _ in range(1000):
        found = welch(draw.normal(0, 1, 10).tolist(), draw.normal(2, 3, 5).tolist())
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2 <= found.high
    assert 0.92 <= held / 1000 <= 0.98


def test_holm_is_that_of_its_paper() -> None:
    assert holm([0.01, 0.04, 0.03, None]) == pytest.approx([0.03, 0.06, 0.06, None])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_false_significance_stays_at_its_level() -> None:
    """Of 1000 synthetic experiments with ten comparisons and no difference in any of them."""
    draw = np.random.default_rng(8)
    wrong = 0
    for _ in range(1000):
        a, b = draw.normal(0, 1, (2, 10, 5))
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        p = holm([difference(x, y).p for x, y in pairs])
        wrong += any(each is not None and each <= 0.05 for each in p)
    interval = stats.binomtest(wrong, 1000).proportion_ci(0.99)
    assert interval.low <= 0.05 <= interval.high or wrong / 1000 < 0.05
    assert wrong > 20  # it does reject: with independent tests Holm is hardly conservative


def test_quantiles_have_an_interval_by_bootstrap() -> None:
    draw = np.random.default_rng(9)
    held = 0
    for _ in range(EXPERIMENTS):
        quantile = bootstrap.quantile(draw.exponential(1.0, 25).tolist(), 0.5)
        assert quantile is not None
        assert quantile.low is not None
        assert quantile.high is not None
        held += quantile.low <= math.log(2) <= quantile.high
    assert 0.90 <= held / EXPERIMENTS <= 0.99
    values = draw.exponential(1.0, 25).tolist()
    assert bootstrap.quantile(values, 0.5) == bootstrap.quantile(values, 0.5)
    few = bootstrap.quantile([1.0, 2.0, 4.0], 0.5)
    assert few == bootstrap.Quantile(2.0, None, None, 3)
    assert bootstrap.quantile([], 0.5) is None


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.995, 1.0])
@pytest.mark.parametrize("n", [5, 8, 25, 100])
def test_a_bootstrap_is_that_of_the_values_themselves(share: float, n: int) -> None:
    values = np.random.default_rng(n).exponential(1.0, n).round(1)  # some are equal
    draws = np.random.default_rng(1).choice(values, (bootstrap.RESAMPLES, n))
    low, high = np.quantile(np.quantile(draws, share, axis=1), [0.025, 0.975])
    quantile = bootstrap.quantile(values.tolist(), share)
    assert quantile is not None
    assert (quantile.low, quantile.high) == pytest.approx((low, high), rel=1e-12, abs=1e-12)


def ramp(draw: np.random.Generator, rise: float, sawtooth: float = 0.3) -> list[float]:
    """Return a window's parts: a sawtooth with any phase, noise, and a rise over the window."""
    t = np.arange(drift.PARTS)
    saw = sawtooth * ((t / 7 + draw.uniform()) % 1)
    return [float(x) for x in 10 * (1 + rise * t / drift.PARTS + saw) + draw.normal(0, 0.2, len(t))]


def test_a_rise_is_a_drift_and_a_sawtooth_is_none() -> None:
    draw = np.random.default_rng(10)
    found = [drift.drifting([ramp(draw, 0.0) for _ in range(5)]) for _ in range(100)]
    assert sum(map(bool, found)) <= 5
    assert all(drift.drifting([ramp(draw, 0.5) for _ in range(5)]) for _ in range(20))
    assert drift.drifting([ramp(draw, 0.02, sawtooth=0.0) for _ in range(5)]) is False


def test_one_run_drifts_if_it_is_steady_only_in_its_second_half() -> None:
    draw = np.random.default_rng(11)
    settles_late = [1.0] * 12 + (10 + draw.normal(0, 0.1, 8)).tolist()
    settles_early = [1.0] * 4 + (10 + draw.normal(0, 0.1, 16)).tolist()
    assert drift.drifting([settles_late]) is True
    assert drift.drifting([settles_early]) is False
    assert drift.drifting([]) is None
    assert drift.drifting([[math.nan] * 20]) is None
    assert drift.drifting([[0.0] * 20]) is None


def test_the_warm_up_is_what_comes_before_the_steady_part() -> None:
    draw = np.random.default_rng(12)
    for first in (0, 10, 40):
        series = [*np.linspace(0, 9, first), *(10 + draw.normal(0, 0.1, 100 - first))]
        assert abs(drift.steady_from(series) - first) <= 5


def test_equal_values_deviate_by_nothing() -> None:
    assert deviation_of([0.1] * 10) == 0.0
