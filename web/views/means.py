"""The table of variants over their repetitions, with units and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from results.comparison.variants import (
    ComparedMetric,
    ComparedVariant,
    VariantComparison,
)
from results.experiment import coverage, left_out
from results.experiment.model import Comparison
from results.metrics import find
from web.charts import scales
from web.charts.scales import Unit
from web.html import formats
from web.views.answers import ShownNumber, interval


@dataclass(frozen=True)
class ShownMean:
    """A mean with its interval; ``part`` says of what part it is, and is empty if of all."""

    mean: ShownNumber
    low: ShownNumber
    high: ShownNumber
    part: str


@dataclass(frozen=True)
class ShownDifference:
    """A difference to the first variant; ``shown`` tells whether the runs show one.

    ``result`` says so in words.
    """

    mean: ShownNumber
    low: ShownNumber
    high: ShownNumber
    p: str
    effect: str
    pairs: str
    shown: bool
    result: str


@dataclass(frozen=True)
class ComparedRow:
    """A metric of a flow entry, a link or the whole run; None where a variant has no value."""

    subject: str
    title: str
    definition: str
    unit: str
    means: Sequence[ShownMean | None]
    differences: Sequence[ShownDifference | None]


@dataclass(frozen=True)
class MeansTable:
    """The variants' names, their numbers of runs, what is left out of which, and the lines."""

    names: Sequence[str]
    runs: Sequence[int]
    notes: Sequence[str]
    lines: Sequence[ComparedRow]
    paired: bool


def table(comparison: VariantComparison) -> MeansTable:
    """Return the table of ``compare_variants``: metrics with a difference alone."""
    variants = comparison.variants
    lines = [line for line in comparison.values if any(line.differences)]
    differences = [
        difference for line in lines for difference in line.differences if difference is not None
    ]
    return MeansTable(
        [variant.name for variant in variants],
        [len(variant.runs) for variant in variants],
        list(_notes(variants)),
        [_line(line) for line in lines],
        all(difference.method == "paired" for difference in differences),
    )


def _line(line: ComparedMetric) -> ComparedRow:
    metric = find(line.metric, line.scope)
    assert metric is not None, "the comparison is of metrics"
    known = [mean.mean for mean in line.means if mean is not None and mean.mean is not None]
    unit = scales.unit_of(metric.format, metric.unit, known)
    return ComparedRow(
        line.subject,
        metric.title,
        " ".join(metric.definition.split()),
        unit.name,
        [
            None if mean is None else ShownMean(*interval(mean, unit), coverage.words(mean))
            for mean in line.means
        ],
        [None if mean is None else _difference(mean, unit) for mean in line.differences[1:]],
    )


def _difference(comparison: Comparison, unit: Unit) -> ShownDifference:
    p, effect = comparison.p_family, comparison.effect
    return ShownDifference(
        *interval(comparison.of_family, unit),
        formats.p_value(p),
        formats.NONE if effect is None else f"{effect:+.2f}",
        comparison.pairs,
        bool(comparison.sign),
        comparison.short_label,
    )


def _notes(variants: Sequence[ComparedVariant]) -> Iterator[str]:
    for variant in variants:
        if reasons := left_out.words(variant.left_out):
            yield f"Left out of {variant.name}: {reasons}."
