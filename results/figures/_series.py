"""Arranges the rows of a summary as the series of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.errors import UsageError
from results import arrangement, axes
from results.arrangement import Cell, Document, Of, Series, Words, ends
from results.axes import key, named
from results.figures import _labels

__all__ = ["Cell", "Series", "ends"]

Axis = Mapping[str, Any]
"""An axis of a summary's document."""


def cells(document: Document, metrics: Sequence[str], of: Of | None) -> list[Cell]:
    """Return the cells that have values of all the metrics, in the order of the summary.

    Without ``of`` they are flow entries, else whole runs, else links: the first with values.

    Raises:
        UsageError: there are no values.
    """
    found = arrangement.cells(document, metrics, of)
    if found:
        return found
    names = " and ".join(metrics)
    whose = {"flows": " of flow entries", "run": " of whole runs", "links": " of links"}
    raise UsageError(
        f"{document['experiment']} has no values of {names}{whose[of] if of else ''} to draw: "
        "no faithful run has any"
    )


def axis_named(document: Document, text: str) -> Axis:
    """Return the axis that a path, or an end of one path only, names.

    Raises:
        UsageError: it names none, or several.
    """
    found = named(text, [made(axis) for axis in document["axes"]])
    return next(axis for axis in document["axes"] if axis["path"] == found.path)


def made(axis: Axis) -> axes.Axis:
    """Return an axis of a document as ``results.axes`` has it."""
    numbers = None if axis["numbers"] is None else tuple(axis["numbers"])
    return axes.Axis(axis["path"], axis["label"], tuple(axis["values"]), numbers, axis["unit"])


def only_axis(document: Document, found: Sequence[Cell]) -> Axis:
    """Return the axis to draw over where none is named: the only one, or the only one of numbers.

    Raises:
        UsageError: there is none, or there are several.
    """
    there: Sequence[Axis] = document["axes"]
    possible = [axis for axis in there if len(values_on(axis, found)) > 1] or list(there)
    numbers = [axis for axis in possible if axis["numbers"] is not None]
    for candidates in (possible, numbers):
        if len(candidates) == 1:
            return candidates[0]
    if not possible:
        raise UsageError(
            f"{document['experiment']} has no axes to draw over: its scenario has no matrix; "
            "the figure `bars` needs none"
        )
    labels = ", ".join(axis["label"] for axis in possible)
    raise UsageError(f"several axes are possible: {labels}; name one by `by`")


def values_on(axis: Axis, found: Iterable[Cell]) -> list[Any]:
    """Return the axis's values that the cells have, in the axis's order."""
    return arrangement.values_on(made(axis), found)


def words(names: Mapping[str, str]) -> Words:
    """Return a paper's words for subjects and values; ``names`` has others in their place."""
    return Words(
        lambda subject: names.get(subject, subject) if subject else "",
        lambda axis, value: _part(axis, value, names),
    )


def series(
    document: Document, found: Sequence[Cell], along: Sequence[Axis], names: Mapping[str, str]
) -> list[Series]:
    """Return the series of ``results.arrangement.series``; ``names`` replaces words."""
    there = [made(axis) for axis in document["axes"]]
    return arrangement.series(document, there, found, [made(one) for one in along], words(names))


def variant_parts(
    along: Sequence[Axis], variant: Mapping[str, Any], names: Mapping[str, str]
) -> list[str]:
    """Return what the legend says of a variant's values on the axes."""
    return arrangement.value_words([made(axis) for axis in along], variant, words(names))


def varying_axes(variants: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """Return the axes on which the variants differ, as a summary has them."""
    return [vars(axis) for axis in axes.varying(axes.axes(variants))]


def _part(axis: axes.Axis, written: Any, names: Mapping[str, str]) -> str:
    """Return what the legend says of a value: a number needs the name of its axis."""
    text = _labels.value(written)
    if text in names or axis.numbers is None:
        return names.get(text, text)
    return f"{names.get(axis.label, _labels.axis_words(vars(axis)))} {text}"


def place(axis: Axis, cell: Cell) -> int | None:
    """Return the index of the cell's value on the axis, None if its variant has none."""
    if axis["path"] not in cell.variant:
        return None
    keys = [key(one) for one in axis["values"]]
    return keys.index(key(cell.variant[axis["path"]]))
