"""Thinning out: extremes and gaps stay."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.samples.downsample import min_max_indices

SERIES = st.lists(
    st.one_of(st.floats(-1e9, 1e9), st.just(math.nan), st.just(math.inf)), max_size=300
)


def test_a_short_series_stays_as_it_is() -> None:
    assert min_max_indices(np.array([5.0, math.nan, 7.0]), 3).tolist() == [0, 1, 2]


def test_each_bucket_keeps_its_extremes_in_the_order_of_time() -> None:
    values = np.array([3, 1, 2, 9, 5, 5, 8, 4])
    assert min_max_indices(values, 4).tolist() == [1, 3, 6, 7]


def test_a_gap_stays_a_gap() -> None:
    values = np.ones(100)
    values[40:60] = math.nan
    chosen = min_max_indices(values, 30)
    gap = chosen[np.isnan(values[chosen])].tolist()
    assert gap[0] == 40
    assert all(40 <= index < 60 for index in gap)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="3 points"):
        min_max_indices(np.zeros(10), 2)


@pytest.mark.slow
@given(SERIES, st.integers(3, 60))
def test_no_extreme_is_lost_and_no_point_too_many(values: list[float], points: int) -> None:
    array = np.array(values, np.float64)
    chosen = min_max_indices(array, points)
    assert len(chosen) <= points
    assert np.array_equal(chosen, np.unique(chosen))
    kept, finite = array[chosen], array[np.isfinite(array)]
    assert bool(np.isfinite(kept).all()) == bool(np.isfinite(array).all())
    if len(finite):
        assert kept[np.isfinite(kept)].min() == finite.min()
        assert kept[np.isfinite(kept)].max() == finite.max()
