"""Says of how much a mean is: of a part of the runs, of the flows, or of the transfers."""

from __future__ import annotations

import math

from results.experiment.model import MeanSummary
from results.experiment.observations import Coverage
from results.statistics.estimates import Estimate


def mean_summary(estimated: Estimate | None, runs: int, coverage: Coverage) -> MeanSummary:
    """Return an estimate with what part of the values it is of; ``runs`` is how many count."""
    return MeanSummary(
        mean=None if estimated is None else _finite(estimated.mean),
        low=None if estimated is None else _finite(estimated.low),
        high=None if estimated is None else _finite(estimated.high),
        sd=None if estimated is None else _finite(estimated.sd),
        n=0 if estimated is None else estimated.n,
        rule="student" if estimated is None else estimated.rule,
        of=runs,
        flows_n=coverage.flows_n,
        flows_of=coverage.flows_of,
        finished=coverage.ended / coverage.begun if coverage.begun else None,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def words(mean: MeanSummary) -> str:
    """Return what part a mean of a summary is of, such as ``2 of 3 runs``; empty if of all."""
    parts = []
    if mean.n != mean.of:
        parts.append(f"{mean.n} of {mean.of} runs")
    if mean.n and mean.flows_n != mean.flows_of and mean.flows_of > mean.of:
        parts.append(f"{mean.flows_n} of {mean.flows_of} flows")
    if mean.finished is not None and mean.finished < 1:
        parts.append(f"{percent(mean.finished)} finished")
    return ", ".join(parts)


def percent(share: float) -> str:
    """Return a share as per cent: ``0%`` and ``100%`` are exact, and nothing is rounded to them."""
    value = 100 * share
    if 0 < value < 1:
        return "< 1%"
    return f"{math.floor(value * 10) / 10:g}%" if value > 99 else f"{value:.0f}%"
