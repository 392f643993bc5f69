"""The values of a summary as series: the cells that share a line, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from results.experiment.model import HasInterval, MetricSummary, Summary, SummaryRow
from results.matrix.axes import Axis, distinguishing, key
from results.records.model import Variant

Of = Literal["flows", "run", "links"]


@dataclass(frozen=True)
class Cell:
    """The metrics of one variant and one flow entry, link or (``subject`` None) whole run."""

    variant: Variant
    subject: str | None
    metrics: Mapping[str, MetricSummary]


@dataclass(frozen=True)
class LegendLabels:
    """What a legend says of a subject (None is a whole run), and of a value on an axis."""

    subject: Callable[[str | None], str]
    value: Callable[[Axis, Any], str]


@dataclass
class Series:
    """The cells that share a line; ``values`` are those on the axes that tell series apart."""

    name: str
    subject: str | None
    values: Mapping[str, Any]
    cells: list[Cell] = field(default_factory=list)


def cells(summary: Summary, metrics: Sequence[str], of: Of | None = None) -> list[Cell]:
    """Return the cells that have means of all the metrics, in the order of the summary.

    Without ``of`` they are flow entries, else whole runs, else links: the first with values.
    """
    for kind in (of,) if of else ("flows", "run", "links"):
        of_kind = [
            Cell(row.variant, row.link if kind == "links" else row.flow, row.metrics)
            for row in summary.rows
            if _is_of(row, kind) and all(map(row.has, metrics))
        ]
        if of_kind:
            return of_kind
    return []


def missing_cells(summary: Summary, drawn: Sequence[Cell]) -> list[Cell]:
    """Return the cells without a mean, of the subjects that have one in another variant.

    ``drawn`` are those of :func:`cells`. A figure has no place for the others.
    """
    subjects = {cell.subject for cell in drawn}
    there = {(key(dict(cell.variant)), cell.subject) for cell in drawn}
    links = any(row.link is not None and row.link in subjects for row in summary.rows)
    every = [
        Cell(row.variant, row.link if links else row.flow, row.metrics)
        for row in summary.rows
        if (row.flow is None if links else row.link is None)
    ]
    return [
        cell
        for cell in every
        if cell.subject in subjects and (key(dict(cell.variant)), cell.subject) not in there
    ]


def _is_of(row: SummaryRow, of: Of) -> bool:
    if of == "run":
        return row.flow is None and row.link is None
    return (row.flow if of == "flows" else row.link) is not None


def values_on(axis: Axis, plotted: Iterable[Cell]) -> list[Any]:
    """Return the axis's values that the cells have, in the axis's order."""
    there = {key(cell.variant[axis.path]) for cell in plotted if axis.path in cell.variant}
    return [axis_value for axis_value in axis.values if key(axis_value) in there]


def known(estimate: HasInterval) -> float:
    """Return the mean of a cell, or of a place that was found: there always is one."""
    assert estimate.mean is not None, "cells have means"
    return estimate.mean


def ends(estimate: HasInterval) -> tuple[float, float]:
    """Return the ends of a mean's interval; the mean itself where there is none."""
    if estimate.low is None or estimate.high is None:
        return known(estimate), known(estimate)
    return estimate.low, estimate.high


def series(
    summary: Summary,
    axes: Sequence[Axis],
    plotted: Sequence[Cell],
    along: Sequence[Axis],
    label_texts: LegendLabels,
    in_panels: bool = False,
) -> list[Series]:
    """Return a series for each flow entry (or link) and each combination of the other axes.

    ``along`` are the axes that the figure itself shows. With ``in_panels`` entries have panels of
    their own, and are told apart by these. An axis of numbers that follow from those,
    as `include` in a matrix may set it, makes no further series.
    """
    variants = [cell.variant for cell in plotted]
    others = [
        axis
        for axis in distinguishing(axes, variants, [axis_or_text.path for axis_or_text in along])
        if not follows(axis, along, summary)
    ]
    several = not in_panels and (len({cell.subject for cell in plotted}) > 1 or not others)
    made: dict[str, Series] = {}
    short: dict[str, str] = {}
    for cell in plotted:
        values = {axis.path: cell.variant.get(axis.path) for axis in others}
        subject = None if in_panels else cell.subject
        series_key = key([subject, list(values.values())])
        if series_key not in made:
            text = label_texts.subject(cell.subject)  # asked for also where it is not shown
            parts = [text] if several else []
            parts += value_words(others, cell.variant, label_texts)
            parts = [axis_or_text for axis_or_text in parts if axis_or_text]
            made[series_key] = Series(", ".join(parts), subject, values)
            short[series_key] = ", ".join(dict.fromkeys(parts))
        made[series_key].cells.append(cell)
    if len(set(short.values())) == len(short):  # axes that have equal values are named once
        for series_key, axis_or_text in made.items():
            axis_or_text.name = short[series_key]
    return list(made.values())


def value_words(axes: Sequence[Axis], variant: Variant, label_texts: LegendLabels) -> list[str]:
    """Return the words for a variant's values on the axes; it may have none on any of them."""
    texts = [label_texts.value(axis, variant[axis.path]) for axis in axes if axis.path in variant]
    return texts or [f"without {axis.label}" for axis in axes]


def follows(axis: Axis, along: Sequence[Axis], summary: Summary) -> bool:
    """Tell whether variants with equal values on some axes have equal ones on this axis, too.

    An axis of names never does, so that different kinds are never joined by a line.
    """
    if axis.numbers is None:
        return False
    given: dict[str, str] = {}
    for row in summary.rows:  # those of variants without a value, too
        given_key = key([row.variant.get(other.path) for other in along])
        value = key(row.variant.get(axis.path))
        if given.setdefault(given_key, value) != value:
            return False
    return len(given) > 1
