"""The summary of an experiment as data: means of metrics, differences and crossings.

:mod:`results.experiment.summary_document` says what they mean, and has their JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from results.experiment.left_out import LeftOut
from results.matrix.axes import Axis, key
from results.records.model import Variant
from results.statistics.bootstrap import Quantile


class HasInterval(Protocol):
    """A mean with the ends of its interval; all None where there is no value."""

    @property
    def mean(self) -> float | None:
        """The mean."""

    @property
    def low(self) -> float | None:
        """The lower end; None for a single value."""

    @property
    def high(self) -> float | None:
        """The upper end; None for a single value."""


class Interval(NamedTuple):
    """A mean with the ends of its interval."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MeanSummary:
    """A mean over runs, in the metric's unit, and of what part of them it is.

    ``n`` of ``of`` runs have a value, and ``flows_n`` of ``flows_of`` flows. ``finished`` is the
    share of transfers that ended.
    """

    mean: float | None
    low: float | None
    high: float | None
    sd: float | None
    n: int
    rule: Literal["student", "stein"]
    of: int
    flows_n: int
    flows_of: int
    finished: float | None


@dataclass(frozen=True)
class QuantileSummary:
    """A quantile over repetitions; ``share`` is between 0 and 1."""

    share: float
    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def interval(self) -> Interval:
        """The quantile with the ends of its interval."""
        return Interval(self.value, self.low, self.high)


@dataclass(frozen=True)
class MetricSummary(MeanSummary):
    """What a summary has of a metric.

    ``rise`` is the change over the window as a share of the mean, and ``steady_from_s`` from when
    on the metric is steady. ``values`` are those of ``runs``.
    """

    drifting: bool | None = None
    rise: float | None = None
    steady_from_s: float | None = None
    median: Quantile | None = None
    values: Sequence[float] = ()
    runs: Sequence[str] = ()
    quantiles: Sequence[QuantileSummary] = ()


@dataclass(frozen=True)
class SummaryRow:
    """The metrics of a flow entry, a link or, without both, of the whole run of a variant.

    ``n`` is the number of runs that count.
    """

    variant: Variant
    flow: str | None
    link: str | None
    n: int
    left_out: LeftOut
    metrics: Mapping[str, MetricSummary]

    @property
    def subject(self) -> str:
        """What the row is of, in words."""
        return self.flow or self.link or "run"

    def has(self, metric: str) -> bool:
        """Whether there is a mean of the metric."""
        return metric in self.metrics and self.metrics[metric].mean is not None


@dataclass(frozen=True)
class Comparison:
    """A difference ``b - a`` with what it shows; see :mod:`results.experiment.contrasts`.

    ``variant`` has the values on the axes that both sides share. ``axis`` is the path of the axis
    whose values are compared, None of flow entries.
    """

    variant: Variant
    axis: str | None
    flow: str | None
    a: str
    b: str
    metric: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    effect: float | None
    method: Literal["paired", "welch"]
    paired_n: int
    a_n: int
    b_n: int
    low_family: float | None
    high_family: float | None
    p_family: float | None
    family_n: int
    label: str = ""

    @property
    def of_family(self) -> Interval:
        """The mean with the interval of its family, which the label follows from."""
        return Interval(self.mean, self.low_family, self.high_family)

    @property
    def sign(self) -> int:
        """1 or -1 where the family's interval is above or below zero, and 0 elsewhere."""
        low, high = self.low_family, self.high_family
        if low is None or high is None or low <= 0 <= high:
            return 0
        return 1 if low > 0 else -1

    @property
    def pairs(self) -> str:
        """The number of pairs, or of the runs on both sides where they are not paired."""
        return str(self.paired_n or f"{self.a_n}, {self.b_n}")

    @property
    def short_label(self) -> str:
        """The label of a difference to one that is named elsewhere: "higher", "lower" or so."""
        return {1: "higher", -1: "lower"}.get(self.sign, self.label)


@dataclass(frozen=True)
class Crossing:
    """Where on an axis of numbers flow entry ``b`` overtakes ``a``, in the axis's unit.

    ``n`` of ``of`` repetitions have such a place.
    """

    variant: Variant
    axis: str
    a: str
    b: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    of: int


@dataclass(frozen=True)
class Summary:
    """The summary of an experiment; ``window`` is None for the whole run."""

    experiment: str
    identity: str
    window: str | None
    axes: Sequence[Axis]
    rows: Sequence[SummaryRow]
    without_values: Sequence[str] = ()
    differences: Sequence[Comparison] = ()
    crossings: Sequence[Crossing] = ()
    without_differences: Sequence[str] = ()
    """Labels of axes that were asked for, and along which there is no difference."""

    @property
    def left_out(self) -> LeftOut:
        """How many runs are left out, of all variants together."""
        return sum({key(row.variant): row.left_out for row in self.rows}.values(), LeftOut())

    def labels(self) -> dict[str, str]:
        """Return the label of each axis by its path."""
        return {axis.path: axis.label for axis in self.axes}
