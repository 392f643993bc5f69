"""Bins of samples for charts hold the smallest value, the mean and the largest one."""

from __future__ import annotations

import numpy as np
import pytest

from web.charts import bins


def test_each_bin_has_the_extremes_and_the_mean_of_its_samples() -> None:
    time_s = np.arange(100) / 10
    values = np.random.default_rng(1).integers(-50, 5000, 100)
    found = bins.binned(time_s, {"v": values}, bins.BinGrid(2.0, 8.0, 4))
    assert found.bin_s == 1.5
    assert found.time_s == [2.75, 4.25, 5.75, 7.25]
    parts = [values[20:35], values[35:50], values[50:65], values[65:81]]  # the end belongs to it
    assert found.low["v"] == [part.min() for part in parts]
    assert found.high["v"] == [part.max() for part in parts]
    assert found.fields["v"] == pytest.approx([part.mean() for part in parts], abs=0.01)


def test_missing_values_are_left_out_and_empty_bins_are_gaps() -> None:
    time_s = np.array([0.5, 0.6, 1.5, 3.5, 3.6])
    values = np.array([np.nan, 4.0, np.nan, 1.0, 2.0])
    found = bins.binned(time_s, {"v": values}, bins.BinGrid(0.0, 4.0, 4))
    assert found.low["v"] == [4, None, None, 1]
    assert found.fields["v"] == [4, None, None, 1.5]
    assert found.high["v"] == [4, None, None, 2]
    nothing = bins.binned(time_s + 100, {"v": values}, bins.BinGrid(0.0, 4.0, 4))
    assert nothing.low["v"] == nothing.fields["v"] == [None] * 4


@pytest.mark.parametrize(
    ("values", "listed"),
    [([1 / 3, 2.0], [0.33333, 2]), ([123456.789, 0.5], [123457, 0]), ([1e-4 / 3], [3.33333e-5]),
     ([np.nan, 0.0], [None, 0]), ([], [])],
)  # fmt: skip
def test_numbers_are_short(values: list[float], listed: list[float | None]) -> None:
    assert bins.listed(np.array(values)) == listed
