"""The tables and notes of an experiment's summary, in the words that people read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from results.experiment import contrasts, coverage, left_out
from results.experiment.model import (
    Comparison,
    HasInterval,
    MeanSummary,
    MetricSummary,
    Summary,
    SummaryRow,
)
from results.matrix.axes import shown
from results.metrics import METRICS, any_scope, is_extracted
from results.records.model import Variant
from results.tables import summary_csv
from results.wording import intervals, quantities, variant_names

_MOST_LISTED = 5
"""Means that a note names."""

_HOW_TO_DIFFER = (
    ": nothing random varies between them; `start_jitter` in the scenario lets repetitions differ"
)
_ENDED_EARLY = (
    ": its pattern found none, or the program ended within the warm-up, which is left out"
)


def tables(summary: Summary) -> list[Table]:
    """Return (title, headings, rows) of means, differences and crossings, if there are any."""
    made = [
        _means(summary), _quantiles(summary), _differences(summary), crossings(summary)
    ]  # fmt: skip
    return [table for table in made if table is not None]


def notes(summary: Summary) -> Iterator[str]:
    """Yield what a reader must know of the means and differences."""
    for reason, number in summary.left_out.numbers.items():
        singular, several = left_out.SENTENCES[reason]
        hint = _HOW_TO_DIFFER if reason == "identical" else ""
        if number:
            said = singular if number == 1 else several
            yield f"{quantities.plural(number, 'run')} {said}{hint}"
    for name in summary.without_values:
        hint = _ENDED_EARLY if is_extracted(name) else ""
        yield f"{name}: no run has a value{hint}"
    yield from _partial(summary)
    drifting = [
        f"{_place(summary, row)} {name}{_rise(metric)}"
        for row, name, metric in _means_of(summary)
        if metric.drifting
    ]
    if drifting:
        yield f"still drifting (marked ~): run longer, or lengthen the warm-up: {_some(drifting)}"
    single = any(row.n == 1 for row in summary.rows)
    if single:
        yield "a single run has no interval; --repetitions N makes more"
    for label in summary.without_differences:
        yield f"no differences along {label}: no two variants with values differ in it alone"
    yield from _families(summary, single)


def _families(summary: Summary, single: bool) -> Iterator[str]:
    """Yield what the intervals of each family of differences are, if that was not said yet.

    ``single`` says that the reader knows of single runs, which have no intervals.
    """
    for (metric, axis), number in contrasts.families(summary.differences).items():
        if single and not number:
            continue
        of = "flow entries" if axis is None else f"values of {summary.labels()[axis]}"
        yield f"differences of {metric}, {of}: {contrasts.sentence(number)}"


def _partial(summary: Summary) -> Iterator[str]:
    """Yield which means are of a part of the runs, of the flows or of the transfers."""
    parts = [
        f"{_place(summary, row)} {name} ({words})"
        for row, name, metric in _means_of(summary)
        if metric.n and (words := coverage.words(metric))
    ]
    if parts:
        yield f"means of a part: {_some(parts)}"


def _means_of(summary: Summary) -> Iterator[tuple[SummaryRow, str, MetricSummary]]:
    for row in summary.rows:
        for name, metric in row.metrics.items():
            yield row, name, metric


def _place(summary: Summary, row: SummaryRow) -> str:
    """Return what a row is of, in words."""
    return " ".join(filter(None, (variant_words(summary, row.variant), row.subject)))


def _some(listed: Sequence[str]) -> str:
    more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    return "; ".join(listed[:_MOST_LISTED]) + more


def _rise(metric: MetricSummary) -> str:
    """Return by how much a metric still rises or falls, and from when on it is steady."""
    rise = metric.rise or 0.0
    word = "rises" if rise > 0 else "falls"
    since_s = metric.steady_from_s
    since = "" if since_s is None else f", steady from {since_s:.3g} s"
    return f" ({word} by {abs(rise):.0%}{since})"


def variant_words(summary: Summary, variant: Variant) -> str:
    """Return the values of a variant on one line."""
    return variant_names.one_line(variant, summary.labels())


Table = tuple[str, list[str], list[list[str]]]


def _means(summary: Summary) -> Table:
    """Return the table of means: axes, flow, number of runs, and a column for each metric."""
    units = units_of(summary)
    there = [name for row in summary.rows for name in row.metrics]
    names = list(dict.fromkeys([*there, *summary.without_values]))
    axes = summary.axes
    headings = [axis.label for axis in axes]
    headings += ["of", "runs", *(_heading(name, units[name]) for name in names)]
    rows = [
        [
            *(shown(row.variant.get(axis.path, "")) for axis in axes),
            row.subject,
            str(row.n),
            *(mean_with_half(row.metrics.get(name), units[name]) for name in names),
        ]
        for row in summary.rows
    ]
    window = f" in the window {summary.window}" if summary.window else ""
    title = f"{summary.experiment}@{summary.identity[:8]}: means with 95% intervals{window}"
    return title, headings, rows


def _quantiles(summary: Summary) -> Table | None:
    """Return the table of quantiles, a row for each metric of a variant and flow."""
    units, axes = units_of(summary), summary.axes
    rows = [
        [
            *(shown(row.variant.get(axis.path, "")) for axis in axes),
            row.subject,
            _heading(name, units[name]),
            *(interval(quantile.interval, units[name]) for quantile in metric.quantiles),
            _runs(metric),
        ]
        for row in summary.rows
        for name, metric in row.metrics.items()
        if metric.quantiles
    ]  # fmt: skip
    if not rows:
        return None
    shares = map(summary_csv.percent, summary_csv.shares(summary))
    headings = [*(axis.label for axis in axes), "of", "metric", *shares, "runs"]
    return "Quantiles over repetitions [95% interval by bootstrap]", headings, rows


def _differences(summary: Summary) -> Table | None:
    if not summary.differences:
        return None
    units = units_of(summary)
    rows = [
        [
            variant_words(summary, difference.variant) or quantities.NO_VALUE,
            difference.flow or quantities.NO_VALUE,
            f"{difference.b} - {difference.a}",
            _heading(difference.metric, units[difference.metric]),
            family_interval(difference, units[difference.metric]),
            difference.label,
            quantities.NO_VALUE if difference.effect is None else f"{difference.effect:+.2f}",
            p_value(difference.p_family),
            difference.pairs,
        ]
        for difference in summary.differences
    ]
    headings = [
        "variant",
        "of",
        "difference",
        "metric",
        "mean [interval]",
        "result",
        "effect",
        "p (Bonferroni)",
    ]
    methods = {difference.method for difference in summary.differences}
    if methods == {"paired"}:
        return "Paired differences", [*headings, "pairs"], rows
    title = "Differences; those with two numbers of runs are not paired (Welch's t test)"
    return title, [*headings, "pairs or runs"], rows


def crossings(summary: Summary) -> Table | None:
    """Return the table of where flow entries change places; None if there are none."""
    if not summary.crossings:
        return None
    axes = {axis.path: axis for axis in summary.axes}
    rows = []
    for each in summary.crossings:
        unit = fixed(axes[each.axis].unit or "1")
        rows.append(
            [
                variant_words(summary, each.variant) or quantities.NO_VALUE,
                f"{each.b} and {each.a}",
                each.metric,
                f"{axes[each.axis].label} {interval(each, unit)}"
                + (f" {unit.name}" if unit.name else ""),
                f"{each.n} of {each.of}",
            ]
        )
    return (
        "Where two flows change places",
        ["variant", "flows", "metric", "at", "repetitions"],
        rows,
    )


class DisplayUnit(NamedTuple):
    """The unit in which text shows values: its name, and its size in the stored unit."""

    name: str
    scale: float


def fixed(stored: str) -> DisplayUnit:
    """Return the unit for values that are stored in that unit."""
    return DisplayUnit(quantities.unit(stored), quantities.scale(stored))


def units_of(summary: Summary) -> dict[str, DisplayUnit]:
    """Return the unit of each metric; times of a second and more are shown in seconds."""
    there = {name for row in summary.rows for name in row.metrics}
    registered = {name: one.unit for (name, _scope), one in METRICS.items()}
    stored = registered | {name: any_scope(name).unit for name in there}
    units = {name: fixed(unit) for name, unit in stored.items()}
    for name in (name for name, unit in stored.items() if unit == "s"):
        found = [
            metric.mean
            for _row, one, metric in _means_of(summary)
            if one == name and metric.mean is not None
        ]
        if found and min(map(abs, found)) >= 1:
            units[name] = DisplayUnit("s", 1.0)
    return units


def _runs(metric: MetricSummary) -> str:
    """Return the number of runs of a mean, with that of all where they differ."""
    return str(metric.n) if metric.n == metric.of else f"{metric.n} of {metric.of}"


def _heading(name: str, unit: DisplayUnit) -> str:
    return f"{name} ({unit.name})" if unit.name else name


def mean_with_half(metric: MeanSummary | None, unit: DisplayUnit) -> str:
    """Return ``mean ± half width`` with the digits that the interval gives a meaning.

    A mean of a part of the runs, flows or transfers says so.
    """
    if metric is None:
        return quantities.NO_VALUE
    scale = unit.scale
    part = coverage.words(metric)
    drifts = isinstance(metric, MetricSummary) and metric.drifting
    mark = (f" ({part})" if part else "") + (" ~" if drifts else "")
    if metric.mean is None:
        return f"{quantities.NO_VALUE}{mark}"
    mean = metric.mean / scale
    if metric.low is None or metric.high is None:
        return f"{_digits(mean, abs(mean) / 1000)}{mark}"
    half = (metric.high - metric.low) / 2 / scale
    step = (intervals.step(metric) or 0.0) / scale
    return f"{_digits(mean, step)} ± {_digits(half, step)}{mark}"


def interval(each: HasInterval, unit: DisplayUnit) -> str:
    """Return ``mean [low, high]`` with the digits that the interval gives a meaning."""
    step = intervals.step(each)
    if step is None:
        step = abs(each.mean or 0.0) / 1000
    return intervals.with_interval(
        each, lambda value: _digits(value / unit.scale, step / unit.scale)
    )


def _digits(value: float, step: float) -> str:
    """Return a number with two digits of ``step``, and zero without a sign."""
    if step <= 0 or not math.isfinite(step):
        return f"{value:.4g}"
    return f"{value:z.{max(0, 1 - math.floor(math.log10(step)))}f}"


def p_value(value: float | None) -> str:
    """Return a p value."""
    if value is None:
        return quantities.NO_VALUE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def family_interval(each: Comparison, unit: DisplayUnit) -> str:
    """Return the mean of a difference with the interval of its family, as :func:`interval`."""
    return interval(each.of_family, unit)
