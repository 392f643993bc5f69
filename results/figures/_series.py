"""Arranges the rows of a summary as the series of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.errors import UsageError
from results.experiment.model import Summary
from results.figures import _labels
from results.layout import series as values
from results.layout.series import Cell, LegendLabels, Of, Series, ends
from results.matrix import axes
from results.matrix.axes import Axis, key, named
from results.records.model import Variant

__all__ = ["Cell", "Series", "ends"]


def cells(summary: Summary, metrics: Sequence[str], of: Of | None) -> list[Cell]:
    """Return the cells that have values of all the metrics, in the order of the summary.

    Without ``of`` they are flow entries, else whole runs, else links: the first with values.

    Raises:
        UsageError: there are no values.
    """
    with_values = values.cells(summary, metrics, of)
    if with_values:
        return with_values
    names = " and ".join(metrics)
    whose = {"flows": " of flow entries", "run": " of whole runs", "links": " of links"}
    raise UsageError(
        f"{summary.experiment} has no values of {names}{whose[of] if of else ''} to draw: "
        "no faithful run has any"
    )


def axis_named(summary: Summary, text: str) -> Axis:
    """Return the axis that a path, or an end of one path only, names.

    Raises:
        UsageError: it names none, or several.
    """
    return named(text, summary.axes)


def only_axis(summary: Summary, plotted: Sequence[Cell]) -> Axis:
    """Return the axis to draw over where none is named: the only one, or the only one of numbers.

    Raises:
        UsageError: there is none, or there are several.
    """
    there = summary.axes
    possible = [axis for axis in there if len(values_on(axis, plotted)) > 1] or list(there)
    numbers = [axis for axis in possible if axis.numbers is not None]
    for candidates in (possible, numbers):
        if len(candidates) == 1:
            return candidates[0]
    if not possible:
        raise UsageError(
            f"{summary.experiment} has no axes to draw over: its scenario has no matrix; "
            "the figure `bars` needs none"
        )
    labels = ", ".join(axis.label for axis in possible)
    raise UsageError(f"several axes are possible: {labels}; name one by `by`")


def values_on(axis: Axis, plotted: Iterable[Cell]) -> list[Any]:
    """Return the axis's values that the cells have, in the axis's order."""
    return values.values_on(axis, plotted)


def words(names: Mapping[str, str]) -> LegendLabels:
    """Return a paper's words for subjects and values; ``names`` has others in their place."""
    return LegendLabels(
        lambda subject: names.get(subject, _labels.plain(subject)) if subject else "",
        lambda axis, value: _part(axis, value, names),
    )


def series(
    summary: Summary, plotted: Sequence[Cell], along: Sequence[Axis], names: Mapping[str, str]
) -> list[Series]:
    """Return the series of ``results.layout.series``; ``names`` replaces words."""
    return values.series(summary, summary.axes, plotted, along, words(names))


def variant_parts(along: Sequence[Axis], variant: Variant, names: Mapping[str, str]) -> list[str]:
    """Return what the legend says of a variant's values on the axes."""
    return values.value_words(along, variant, words(names))


def distinguishing(variants: Sequence[Variant]) -> list[Axis]:
    """Return the axes that tell the variants apart."""
    return axes.distinguishing(axes.axes(variants), variants)


def _part(axis: Axis, written: Any, names: Mapping[str, str]) -> str:
    """Return what the legend says of a value: a number or a switch needs the name of its axis."""
    text = _labels.value(written)
    if isinstance(written, Mapping):
        index = [key(axis_value) for axis_value in axis.values].index(key(written))
        text = _labels.short_texts(axis.values)[index]
    if text in names or (axis.numbers is None and not isinstance(written, bool | None)):
        return names.get(text, text)
    return f"{names.get(axis.label, _labels.axis_words(axis))} {text}"


def place(axis: Axis, cell: Cell) -> int | None:
    """Return the index of the cell's value on the axis, None if its variant has none."""
    if axis.path not in cell.variant:
        return None
    keys = [key(axis_value) for axis_value in axis.values]
    return keys.index(key(cell.variant[axis.path]))
