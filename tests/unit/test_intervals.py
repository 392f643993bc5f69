"""Intervals of counts, which a faithful run leaves with a known probability."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from orchestrator.intervals import binomial, renewals


@pytest.mark.parametrize(
    ("trials", "probability"),
    [(10_000, 0.01), (10, 0.5), (10**7, 1e-8), (5, 0.999), (1, 0.1), (10**6, 1e-3)],
)
def test_a_binomial_interval_is_the_narrowest_of_its_level(trials: int, probability: float) -> None:
    from scipy.stats import binom  # slow to import, and no other test needs it

    low, high = binomial(trials, probability, 1e-6)
    assert binom.cdf(low - 1, trials, probability) <= 1e-6 < binom.cdf(low, trials, probability)
    assert binom.sf(high, trials, probability) <= 1e-6
    assert high == 0 or binom.sf(high - 1, trials, probability) > 1e-6


@pytest.mark.parametrize(
    ("trials", "probability", "interval"), [(0, 0.5, (0, 0)), (9, 0.0, (0, 0)), (9, 1.0, (9, 9))]
)
def test_a_certain_outcome_has_one_count(
    trials: int, probability: float, interval: tuple[int, int]
) -> None:
    assert binomial(trials, probability, 1e-6) == interval


def test_with_certainty_every_fifth_packet_is_picked() -> None:
    assert renewals(1000, 5, 1.0, 1e-6) == (200, 200)
    assert renewals(999, 5, 1.0, 1e-6) == (199, 199)
    assert renewals(0, 5, 1.0, 1e-6) == (0, 0)


def test_without_a_gap_picks_are_binomial() -> None:
    assert renewals(1000, 1, 0.25, 1e-6) == binomial(1000, 0.25, 1e-6)


def test_picks_with_a_gap_have_their_exact_distribution() -> None:
    packets, gap, chance = 12, 3, 0.4
    likely: dict[int, float] = {}
    for draws in itertools.product((True, False), repeat=packets):
        since, picks, weight = 0, 0, 1.0
        for draw in draws:
            if since < gap - 1:
                weight *= 0.5  # this draw is not used
                since += 1
            else:
                weight *= chance if draw else 1 - chance
                picks, since = (picks + 1, 0) if draw else (picks, since)
        likely[picks] = likely.get(picks, 0.0) + weight
    assert math.isclose(sum(likely.values()), 1.0)
    for level in (0.3, 0.1, 0.01):
        low, high = renewals(packets, gap, chance, level)
        assert sum(weight for picks, weight in likely.items() if picks < low) <= level
        assert sum(weight for picks, weight in likely.items() if picks <= low) > level
        assert sum(weight for picks, weight in likely.items() if picks > high) <= level
        assert sum(weight for picks, weight in likely.items() if picks >= high) > level


def test_picks_of_simulated_netem_are_inside_the_interval() -> None:
    draw = random.Random(1)
    low, high = renewals(5000, 4, 0.3, 1e-3)
    for _ in range(50):
        counter = picks = 0
        for _packet in range(5000):
            if counter >= 3 and draw.random() < 0.3:
                counter, picks = 0, picks + 1
            else:
                counter += 1
        assert low <= picks <= high
