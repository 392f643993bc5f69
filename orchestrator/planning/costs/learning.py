"""Corrects estimates of wall time by what earlier runs took.

First the constants' parts of a run (``Costs``) get a factor each. They are fitted to the earlier
runs by least squares of relative errors, with a prior of 1 and with small weights for outliers.
Then runs of a scenario of the same name correct the result by the median of their ratios, and runs
that differ only in their seed count most.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from orchestrator.planning.costs.estimate import Costs, costs
from orchestrator.planning.runspec import RunSpec

LEAST, MOST = 0.2, 5.0
"""Bounds of each factor, and of the correction by a scenario's name."""

PRIOR = 0.1
"""How many scenarios the constants count as."""

USUAL_ERROR = 0.15
"""Relative errors above this have less weight (Huber's function)."""

NEWEST = 10
"""How many runs that differ only in the seed count; a later version may be faster."""

_STEPS = 20

Identity = tuple[str, str]
"""The hash of an experiment, and the variant: what runs that differ only in the seed share."""


@dataclass(frozen=True)
class EarlierRun:
    """One earlier run on this machine, with the guest kernel of now.

    ``seconds`` is its wall time without what it waited for a processor.
    """

    scenario: str
    identity: Identity
    costs: Costs
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """Seconds of wall time, and where they come from.

    Attributes:
        wall_s: seconds on a CPU of its own.
        source: "same" for runs that differ only in the seed, "scenario" for runs of a scenario of
            this name, "machine" for other runs, "constants" where there is none.
        runs: number of runs of that source.
    """

    wall_s: float
    source: Literal["same", "scenario", "machine", "constants"]
    runs: int


CERTAINTY = ("constants", "machine", "scenario", "same")
"""Sources of estimates, the least certain one first."""


def least_certain(estimates: Iterable[Estimate]) -> Estimate:
    """Return the estimate of the least certain source, with the fewest runs of it.

    Raises:
        ValueError: there is none.
    """
    return min(estimates, key=lambda estimate: (CERTAINTY.index(estimate.source), estimate.runs))


class Estimator:
    """Estimates runs by earlier ones, the newest first; without any, by the constants."""

    def __init__(self, earlier: Iterable[EarlierRun] = ()) -> None:
        self._earlier = [run for run in earlier if math.isfinite(run.seconds) and run.seconds > 0]
        self._factors = fitted(self._earlier)
        self._named: dict[str, list[EarlierRun]] = {}
        self._same: dict[tuple[str, Identity], list[float]] = {}
        for run in self._earlier:
            self._named.setdefault(run.scenario, []).append(run)
            self._same.setdefault((run.scenario, run.identity), []).append(run.seconds)
        self._corrections: dict[str, float] = {}

    def __call__(self, run: RunSpec) -> Estimate:
        """Return the estimate of a planned run."""
        return self.estimate(run.scenario_name, identity(run), costs(run))

    def estimate(self, scenario: str, own: Identity, of_run: Costs) -> Estimate:
        """Return the estimate of a run with these costs."""
        if not self._earlier:
            return Estimate(of_run.total_s, "constants", 0)
        expected_s = self._fit_s(of_run)
        if same := self._same.get((scenario, own), [])[:NEWEST]:
            # Half a run's weight is left to the model: one run alone may be an outlier.
            share = len(same) / (len(same) + 0.5)
            expected_s *= (statistics.median(same) / expected_s) ** share
            return Estimate(expected_s, "same", len(same))
        if named := self._named.get(scenario, []):
            return Estimate(expected_s * self._correction(scenario), "scenario", len(named))
        return Estimate(expected_s, "machine", len(self._earlier))

    def _correction(self, scenario: str) -> float:
        """Return by what the fit is multiplied for a scenario that has earlier runs."""
        if scenario not in self._corrections:
            named = self._named[scenario]
            ratio = statistics.median(run.seconds / self._fit_s(run.costs) for run in named)
            share = len(named) / (len(named) + 1)
            self._corrections[scenario] = min(max(ratio, LEAST), MOST) ** share
        return self._corrections[scenario]

    def _fit_s(self, of_run: Costs) -> float:
        return float(self._factors @ np.array(astuple(of_run)))


def identity(run: RunSpec) -> Identity:
    """Return what a run shares with those that differ only in the seed."""
    return run.experiment_sha256 or "", repr(sorted(run.variant.items()))


def fitted(earlier: Sequence[EarlierRun]) -> npt.NDArray[np.float64]:
    """Return the factor of each part of ``Costs``; ones without runs.

    All runs of a scenario weigh as much as one run, so that a long experiment does not outweigh
    the others. Runs that differ only in the seed are one row with the median of their seconds.
    """
    groups: dict[tuple[str, Identity], list[EarlierRun]] = {}
    for earlier_run in earlier:
        groups.setdefault((earlier_run.scenario, earlier_run.identity), []).append(earlier_run)
    parts = len(fields(Costs))
    if not groups:
        return np.ones(parts)
    variants = Counter(scenario for scenario, _identity in groups)
    shares = np.array([1 / variants[scenario] for scenario, _identity in groups])
    taken_s = np.array([statistics.median(run.seconds for run in runs) for runs in groups.values()])
    rows = np.array([astuple(runs[0].costs) for runs in groups.values()], dtype=np.float64)
    # A slower or faster machine first, with all parts alike. The parts differ from that.
    ratios = {
        scenario: statistics.median(
            seconds / row.sum()
            for (name, _identity), seconds, row in zip(groups, taken_s, rows, strict=True)
            if name == scenario
        )
        for scenario in variants
    }
    trust = len(variants) / (len(variants) + PRIOR)
    machine = min(max(statistics.median(ratios.values()), LEAST), MOST) ** trust
    rows *= machine / taken_s[:, None]
    penalty = math.sqrt(PRIOR) * np.eye(parts)
    factors = np.ones(parts)
    for _ in range(_STEPS):
        errors = np.abs(rows @ factors - 1)
        weights = np.sqrt(shares * np.minimum(1.0, USUAL_ERROR / np.maximum(errors, 1e-9)))
        left = np.vstack([weights[:, None] * rows, penalty])
        right = np.concatenate([weights, penalty @ np.ones(parts)])
        factors = np.clip(np.linalg.lstsq(left, right, rcond=None)[0], LEAST, MOST)
    bounded: npt.NDArray[np.float64] = np.clip(machine * factors, LEAST, MOST)
    return bounded
