"""Reduces series for drawing; extremes and gaps stay visible."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def min_max_indices(values: npt.NDArray[Any], points: int) -> npt.NDArray[np.intp]:
    """Return ascending indices of at most ``points`` values, integers or floats.

    The series is cut into buckets of equal size. Of each bucket the smallest value, the largest one
    and the first one that is not finite are kept.

    Raises:
        ValueError: ``points`` is below 3.
    """
    if points < 3:
        raise ValueError(f"a bucket needs 3 points, {points} were requested")
    count = len(values)
    if count <= points:
        return np.arange(count)
    gaps = None if values.dtype.kind in "iu" else ~np.isfinite(values)
    if gaps is None or not gaps.any():
        size = -(-count // (points // 2))
        return np.unique(np.concatenate([_places(values, size, largest) for largest in (0, 1)]))
    size = -(-count // (points // 3))
    # A bucket without a finite value gives its first sample for both, which marks the gap.
    found = [
        _places(np.where(gaps, -np.inf if largest else np.inf, values), size, largest)
        for largest in (0, 1)
    ]
    first = _places(gaps, size, largest=1)
    return np.unique(np.concatenate([*found, first[gaps[first]]]))


def _places(values: npt.NDArray[Any], size: int, largest: int) -> npt.NDArray[np.intp]:
    """Return the index of the first smallest or largest value of each bucket of ``size`` values."""
    whole = len(values) // size * size
    table = values[:whole].reshape(-1, size)
    found: npt.NDArray[np.intp]
    found = (table.argmax(axis=1) if largest else table.argmin(axis=1)) + np.arange(0, whole, size)
    if whole == len(values):
        return found
    rest = values[whole:]
    last = rest.argmax() if largest else rest.argmin()
    return np.append(found, whole + int(last))
