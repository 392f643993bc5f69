"""The tables and the plot of an experiment's page, from its summary.

Numbers are those of ``results.experiment.summary``; here they get units and words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from results.experiment import contrasts, coverage, left_out, model
from results.experiment.experiments import Experiment
from results.experiment.model import Comparison, HasInterval, Summary, SummaryRow
from results.matrix.axes import Axis, conditions, shown, varying, with_labels
from results.metrics import Metric, any_scope
from results.records.model import Variant
from results.wording import intervals
from web.charts import plot, scales
from web.charts.plot import Plot
from web.charts.scales import Unit
from web.html import formats
from web.views.choices import Choices

MOST_ROWS = 500
"""Rows of a table on the page; the files have all."""


@dataclass(frozen=True)
class ShownNumber:
    """A number of the summary in its stored unit, and as it is shown."""

    raw: float | None
    text: str


@dataclass(frozen=True)
class MeanRow:
    """A row of means; ``doubtful`` counts the doubtful runs of the mean.

    ``part`` says of what part of the runs, flows or transfers it is; empty if of all.
    """

    place: list[str]
    subject: str
    n: int
    part: str
    mean: ShownNumber
    low: ShownNumber
    high: ShownNumber
    drifting: bool | None
    rises: bool
    doubtful: int
    left_out: str


@dataclass(frozen=True)
class DifferenceRow:
    """A row of differences ``b - a``; ``sign`` is 1, -1, or 0 if none was shown.

    ``where`` is the condition that keeps the variants of ``place``; empty if all are of it.
    """

    place: str
    where: str
    pair: str
    result: str
    sign: int
    mean: ShownNumber
    low: ShownNumber
    high: ShownNumber
    effect: ShownNumber
    p: ShownNumber
    pairs: str


@dataclass(frozen=True)
class CrossingRow:
    """Where two flow entries change places."""

    place: str
    pair: str
    axis: str
    mean: ShownNumber
    low: ShownNumber
    high: ShownNumber
    seen: str


@dataclass(frozen=True)
class ExperimentAnswers:
    """All that the page shows of a summary. ``more`` counts rows that are in the files only."""

    metric: Metric
    unit: Unit
    plot: Plot
    means: list[MeanRow]
    more_means: int
    differences: list[DifferenceRow]
    families: list[str]
    more_differences: int
    paired: bool
    crossings: list[CrossingRow]
    notes: list[str]


def answer(summary: Summary, experiment: Experiment, chosen: Choices) -> ExperimentAnswers:
    """Return what the page shows.

    Raises:
        UsageError: a value has no place on a logarithmic axis.
    """
    axes = experiment.axes()
    metric_entry = any_scope(chosen.metric)
    rows = [row for row in summary.rows if chosen.metric in row.metrics]
    means = [row.metrics[chosen.metric].mean for row in rows]
    unit = scales.unit_of(
        metric_entry.format, metric_entry.unit, [mean for mean in means if mean is not None]
    )
    request = plot.PlotRequest(
        chosen.metric, metric_entry.title, unit, chosen.x, chosen.colour, chosen.facet,
        chosen.log_x, chosen.y_scale == "log", chosen.from_zero, chosen.each, chosen.doubtful,
    )  # fmt: skip
    differences = summary.differences
    return ExperimentAnswers(
        metric_entry,
        unit,
        plot.plot(summary, axes, request),
        [_mean(row, axes, chosen, unit) for row in rows[:MOST_ROWS]],
        max(0, len(rows) - MOST_ROWS),
        [_difference(contrast, axes, unit) for contrast in differences[:MOST_ROWS]],
        [
            f"{'Flow entries' if axis is None else _label(axis, axes)}: "
            f"{contrasts.sentence(number)}."
            for (_metric, axis), number in contrasts.families(differences).items()
        ],
        max(0, len(differences) - MOST_ROWS),
        all(contrast.method == "paired" for contrast in differences),
        [_crossing(contrast, axes) for contrast in summary.crossings],
        list(_notes(summary, chosen)),
    )


def interval(estimate: HasInterval, unit: Unit) -> tuple[ShownNumber, ShownNumber, ShownNumber]:
    """Return mean and ends of an interval with the digits that its width gives a meaning."""
    step = intervals.step(estimate)
    mean, low, high = (
        ShownNumber(end, unit.digits(end, step))
        for end in (estimate.mean, estimate.low, estimate.high)
    )
    return mean, low, high


def _mean(row: SummaryRow, axes: Sequence[Axis], chosen: Choices, unit: Unit) -> MeanRow:
    metric = row.metrics[chosen.metric]
    return MeanRow(
        [shown(row.variant.get(axis.path, "")) for axis in axes],
        row.subject,
        metric.n,
        coverage.words(metric),
        *interval(metric, unit),
        metric.drifting,
        (metric.rise or 0) > 0,
        sum(run in chosen.doubtful for run in metric.runs),
        left_out.words(row.left_out),
    )


def _difference(comparison: Comparison, axes: Sequence[Axis], unit: Unit) -> DifferenceRow:
    p, effect = comparison.p_family, comparison.effect
    return DifferenceRow(
        ", ".join(filter(None, (_place(comparison.variant, axes), comparison.flow)))
        or formats.NONE,
        " and ".join(_conditions(comparison.variant, axes)),
        f"{comparison.b} − {comparison.a}",
        comparison.label,
        comparison.sign,
        *interval(comparison.of_family, unit),
        ShownNumber(effect, formats.NONE if effect is None else f"{effect:+.2f}"),
        ShownNumber(p, formats.p_value(p)),
        comparison.pairs,
    )


def _label(path: str, axes: Sequence[Axis]) -> str:
    """Return what the differences along an axis are of."""
    return f"Values of {next(axis.label for axis in axes if axis.path == path)}"


def _crossing(crossing: model.Crossing, axes: Sequence[Axis]) -> CrossingRow:
    axis = next(axis for axis in axes if axis.path == crossing.axis)
    format_name = {"bit/s": "rate", "s": "time"}.get(axis.unit or "", "")
    known = [crossing.mean] if crossing.mean is not None else []
    unit = scales.unit_of(format_name, axis.unit or "1", known)
    return CrossingRow(
        _place(crossing.variant, axes) or formats.NONE,
        f"{crossing.b} and {crossing.a}",
        f"{axis.label} ({unit.name})" if unit.name else axis.label,
        *interval(crossing, unit),
        f"{crossing.n} of {crossing.of}",
    )


def _place(variant: Variant, axes: Sequence[Axis]) -> str:
    """Return the values of a variant on the axes that have several."""
    return ", ".join(condition.replace("=", " ", 1) for condition in _conditions(variant, axes))


def _conditions(variant: Variant, axes: Sequence[Axis]) -> tuple[str, ...]:
    """Return a condition for each value of a variant on the axes that have several."""
    return conditions(with_labels(variant, varying(axes)))


def _notes(summary: Summary, chosen: Choices) -> Iterator[str]:
    """Yield what a reader of the means must know."""
    for reason, number in summary.left_out.numbers.items():
        singular, several = left_out.SENTENCES[reason]
        if number:
            yield f"{formats.plural(number, 'run')} {singular if number == 1 else several}."
    if doubtful := len(chosen.doubtful):
        yield f"{formats.plural(doubtful, 'run')} {'is' if doubtful == 1 else 'are'} doubtful. " + (
            "It counts." if doubtful == 1 else "They count."
        )
    if chosen.metric in summary.without_values:
        yield f"No run has a value of {chosen.metric}."
    metrics = [row.metrics.get(chosen.metric) for row in summary.rows]
    partial = sum(bool(metric and metric.n and coverage.words(metric)) for metric in metrics)
    if partial:
        yield f"{formats.plural(partial, 'mean')} of a part of the runs, flows or transfers."
    drifting = sum(bool(metric and metric.drifting) for metric in metrics)
    if drifting:
        yield (
            f"{formats.plural(drifting, 'mean')} still drifting (marked ~): run longer, or "
            "lengthen the warm-up."
        )
    single = sum(metric is not None and metric.n == 1 for metric in metrics)
    if single:
        yield f"{formats.plural(single, 'mean')} of a single run: no interval."
    if not chosen.drift:
        yield "Drifts were not looked for."
