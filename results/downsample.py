"""Reduces series for drawing; extremes and gaps stay visible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def min_max(
    times: npt.ArrayLike, values: npt.ArrayLike, points: int
) -> tuple[list[float], list[float | None]]:
    """Return at most ``points`` points of a series, None where values are not finite (a gap).

    Args:
        times: ascending.
        values: of the same length.
        points: at least 3.
    """
    t, v = np.asarray(times, np.float64), np.asarray(values, np.float64)
    chosen = min_max_indices(v, points)
    kept = [value if finite else None for value, finite in zip(
        v[chosen].tolist(), np.isfinite(v[chosen]).tolist(), strict=True
    )]  # fmt: skip
    return t[chosen].tolist(), kept


def min_max_indices(values: Floats, points: int) -> npt.NDArray[np.intp]:
    """Return ascending indices of at most ``points`` values.

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
    gaps = ~np.isfinite(values)
    size = -(-count // (points // (3 if gaps.any() else 2)))
    starts = np.arange(0, count, size)
    padding = len(starts) * size - count

    def table(array: Floats, fill: float) -> Floats:
        return np.pad(array, (0, padding), constant_values=fill).reshape(-1, size)

    lowest = table(np.where(gaps, np.inf, values), np.inf).argmin(axis=1)
    highest = table(np.where(gaps, -np.inf, values), -np.inf).argmax(axis=1)
    # A bucket without a finite value gives its first sample for both, which marks the gap.
    found = [starts + lowest, starts + highest]
    gap = table(gaps.astype(np.float64), 0.0)
    found.append((starts + gap.argmax(axis=1))[gap.any(axis=1)])
    return np.unique(np.concatenate(found))
