"""Whether a metric still drifts within its window, and from when on it is steady."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from results.statistics.estimates import deviation_of, estimate, mean_of

PARTS = 20
"""Number of equal parts of a window in which a metric is computed."""

LEAST_CHANGE = 0.05
"""A change over the window by a smaller share of the mean is no drift."""

CONFIDENCE = 0.99
LEAST_RUNS = 3


def change(parts: Sequence[float]) -> float | None:
    """Return how much a line through a window's parts rises over it, as a share of the mean.

    None where the mean is zero or fewer than three parts have a value.
    """
    known = [(index, value) for index, value in enumerate(parts) if math.isfinite(value)]
    if len(known) < 3:
        return None
    x, y = (np.asarray(column, np.float64) for column in zip(*known, strict=True))
    mean = float(y.mean())
    if mean == 0.0:
        return None
    x -= x.mean()
    slope = float((x * y).sum() / (x * x).sum())
    return slope * len(parts) / abs(mean)


def rise(runs: Sequence[Sequence[float]]) -> float | None:
    """Return the mean of :func:`change` over runs; None where no run has one."""
    changes = [share for run in runs if (share := change(run)) is not None]
    return mean_of(changes) if changes else None


def drifting(runs: Sequence[Sequence[float]]) -> bool | None:
    """Tell whether a metric drifts, from its values in the parts of the window of each run.

    The parts of a run depend on each other (a sawtooth can be longer than a part), so they are no
    sample. The rise of each run is one value, and runs are independent. The metric drifts if the
    mean rise is more than LEAST_CHANGE and its interval of 99% excludes zero. With one or two runs
    it drifts if the first steady part (see :func:`steady_from`) is in the second half of the window
    of every run. None where nothing can be computed.
    """
    changes = [share for run in runs if (share := change(run)) is not None]
    if not changes:
        return None
    if abs(mean_of(changes)) <= LEAST_CHANGE:
        return False
    if len(changes) < LEAST_RUNS:
        return all(steady_from(run) > len(run) / 2 for run in runs)
    mean = estimate(changes, CONFIDENCE)
    if mean is None or mean.half_width is None:
        raise AssertionError("there are several changes")
    return abs(mean.mean) > mean.half_width


def steady_from(series: Sequence[float]) -> int:
    """Return the number of leading values to leave out: the marginal standard error rule (MSER).

    K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
    Simulation 69, 1997. It minimises the squared standard error of the mean of what remains. At
    least a tenth of the values remain, because the error of few values is small by chance.
    """
    array = np.asarray(series, np.float64)
    last = len(array) - max(2, math.ceil(len(array) / 10))
    errors = [
        deviation_of(array[first:].tolist()) ** 2 / (len(array) - first)
        for first in range(last + 1)
    ]
    return int(np.argmin(errors)) if errors else 0
