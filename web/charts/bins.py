"""Smallest, mean and largest value of samples in bins of equal width, for charts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from results.samples.sample_tables import Array

LEAST_SAMPLES = 3
"""Samples that a bin must have in the mean. With fewer ones the samples themselves are shown."""

_DIGITS = 6

Floats = npt.NDArray[np.float64]
Values = list[float | int | None]
"""Values of a series as JSON has them; None where there is none."""


@dataclass(frozen=True)
class BinGrid:
    """Bins of equal width from ``from_s`` to ``to_s`` (s)."""

    from_s: float
    to_s: float
    count: int

    @property
    def width_s(self) -> float:
        """The width of a bin."""
        return (self.to_s - self.from_s) / self.count

    @property
    def middles_s(self) -> Floats:
        """The middle of each bin."""
        return np.round(self.from_s + (np.arange(self.count) + 0.5) * self.width_s, 9)

    def starts(self, time_s: Floats) -> npt.NDArray[np.intp]:
        """Return where each bin begins in ascending times, and where the last one ends."""
        edges = np.linspace(self.from_s, self.to_s, self.count + 1)
        indices = np.searchsorted(time_s, edges, side="left")
        indices[-1] = np.searchsorted(time_s, self.to_s, side="right")
        return indices


@dataclass(frozen=True)
class Binned:
    """The smallest value, the mean and the largest value of each bin, by the name of the field.

    A bin without values has None. ``time_s`` has the middles of the bins.
    """

    bin_s: float
    time_s: Values
    low: Mapping[str, Values]
    fields: Mapping[str, Values]
    high: Mapping[str, Values]


def binned(time_s: Floats, fields: Mapping[str, Array], grid: BinGrid) -> Binned:
    """Return the values of every bin. Those that are NaN are left out.

    Args:
        time_s: ascending.
        fields: columns of the same length, integers or floats.
        grid: the bins.
    """
    starts = grid.starts(time_s)
    inside = slice(int(starts[0]), int(starts[-1]))
    counts = np.diff(starts)
    # reduceat() takes one value for an empty part, so only bins with samples are given to it.
    filled = np.flatnonzero(counts)
    places = (starts[:-1] - starts[0])[filled]
    low: dict[str, Values] = {}
    means: dict[str, Values] = {}
    high: dict[str, Values] = {}
    for name, column in fields.items():
        parts = _reduced(column[inside], places, counts[filled]) if len(filled) else ()
        for kept, part in zip((low, means, high), parts or [np.empty(0)] * 3, strict=True):
            values = np.full(grid.count, np.nan)
            values[filled] = part
            kept[name] = listed(values)
    return Binned(grid.width_s, grid.middles_s.tolist(), low, means, high)


def _reduced(
    values: Array, places: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Return minimum, mean and maximum of the parts that begin at the places."""
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    if missing is None or not missing.any():
        low, high = np.minimum.reduceat(values, places), np.maximum.reduceat(values, places)
        return low, np.add.reduceat(values, places, dtype=np.float64) / counts, high
    known = counts - np.add.reduceat(missing, places, dtype=np.intp)
    total = np.add.reduceat(np.where(missing, 0.0, values), places)
    mean = np.divide(total, known, out=np.full(len(places), np.nan), where=known > 0)
    return np.fmin.reduceat(values, places), mean, np.fmax.reduceat(values, places)


def listed(values: Floats) -> list[float | int | None]:
    """Return values as JSON has them: None where NaN, whole ones as integers.

    They are rounded to six significant digits of the largest one.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0, where=~np.isnan(values)))
    if largest > 0:
        values = np.round(values, max(_DIGITS - 1 - math.floor(math.log10(largest)), 0))
    return [
        None if number != number else int(number) if number.is_integer() else number
        for number in values.tolist()
    ]
