"""Arranges the rows of a summary as the series of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from results import axes
from results.axes import key, named
from results.figures import _labels
from results.figures._spec import Of

Document = Mapping[str, Any]
Axis = Mapping[str, Any]
"""An axis of a summary's document."""

_SUBJECTS: Mapping[Of, str | None] = {"flows": "flow", "run": None, "links": "link"}


@dataclass(frozen=True)
class Cell:
    """A metric's values of one variant and one flow entry, link or whole run."""

    variant: Mapping[str, Any]
    subject: str | None
    metrics: Mapping[str, Mapping[str, Any]]


@dataclass
class Series:
    """The cells that share a line or a colour, under the name that the legend shows."""

    name: str
    cells: list[Cell] = field(default_factory=list)


def cells(document: Document, metrics: Sequence[str], of: Of | None) -> list[Cell]:
    """Return the cells that have values of all the metrics, in the order of the summary.

    Without ``of`` they are flow entries, else whole runs, else links: the first with values.

    Raises:
        UsageError: there are no values.
    """
    for kind in (of,) if of else ("flows", "run", "links"):
        found = [
            Cell(row["variant"], row[_SUBJECTS[kind] or "flow"], row["metrics"])
            for row in document["rows"]
            if _is_of(row, kind) and all(_has(row, name) for name in metrics)
        ]
        if found:
            return found
    names = " and ".join(metrics)
    whose = {"flows": " of flow entries", "run": " of whole runs", "links": " of links"}
    raise UsageError(
        f"{document['experiment']} has no values of {names}{whose[of] if of else ''} to draw: "
        "no faithful run has any"
    )


def _is_of(row: Mapping[str, Any], of: Of) -> bool:
    if of == "run":
        return row["flow"] is None and row.get("link") is None
    return row.get(_SUBJECTS[of] or "") is not None


def _has(row: Mapping[str, Any], name: str) -> bool:
    return bool(row["metrics"].get(name, {}).get("values"))


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
    there = {key(cell.variant[axis["path"]]) for cell in found if axis["path"] in cell.variant}
    return [one for one in axis["values"] if key(one) in there]


def series(
    document: Document, found: Sequence[Cell], along: Sequence[Axis], names: Mapping[str, str]
) -> list[Series]:
    """Return a series for each flow entry (or link) and each combination of the other axes.

    ``along`` are the axes that the figure itself shows. An axis of numbers that follow from those,
    as `include` in a matrix may set it, makes no further series. ``names`` replaces words.
    """
    shown = {axis["path"] for axis in along}
    others = [
        axis
        for axis in document["axes"]
        if axis["path"] not in shown
        and len(values_on(axis, found)) > 1
        and not _follows(axis, along, document)
    ]
    several = len({cell.subject for cell in found}) > 1 or not others
    made: dict[str, Series] = {}
    short: dict[str, str] = {}
    for cell in found:
        parts = [names.get(cell.subject, cell.subject)] if several and cell.subject else []
        parts += variant_parts(others, cell.variant, names)
        values = [cell.variant.get(axis["path"]) for axis in others]
        place = key([cell.subject, values])
        made.setdefault(place, Series(", ".join(parts))).cells.append(cell)
        short[place] = ", ".join(dict.fromkeys(parts))
    if len(set(short.values())) == len(short):  # axes that have equal values are named once
        for place, one in made.items():
            one.name = short[place]
    return list(made.values())


def _follows(axis: Axis, along: Sequence[Axis], document: Document) -> bool:
    """Tell whether variants with equal values on some axes have equal ones on this axis, too.

    An axis of names never does, so that different kinds are never joined by a line.
    """
    if axis["numbers"] is None:
        return False
    given: dict[str, str] = {}
    for row in document["rows"]:  # those of variants without a value, too
        place = key([row["variant"].get(each["path"]) for each in along])
        value = key(row["variant"].get(axis["path"]))
        if given.setdefault(place, value) != value:
            return False
    return len(given) > 1


def variant_parts(
    along: Sequence[Axis], variant: Mapping[str, Any], names: Mapping[str, str]
) -> list[str]:
    """Return what the legend says of a variant's values on the axes."""
    return [_part(axis, variant[axis["path"]], names) for axis in along if axis["path"] in variant]


def varying_axes(variants: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """Return the axes on which the variants differ, as a summary has them."""
    return [vars(axis) for axis in axes.axes(variants) if len(axis.values) > 1]


def _part(axis: Axis, written: Any, names: Mapping[str, str]) -> str:
    """Return what the legend says of a value: a number needs the name of its axis."""
    text = _labels.value(written)
    if text in names or axis["numbers"] is None:
        return names.get(text, text)
    return f"{names.get(axis['label'], _labels.axis_words(axis))} {text}"


def place(axis: Axis, cell: Cell) -> int | None:
    """Return the index of the cell's value on the axis, None if its variant has none."""
    if axis["path"] not in cell.variant:
        return None
    keys = [key(one) for one in axis["values"]]
    return keys.index(key(cell.variant[axis["path"]]))


def ends(estimate: Mapping[str, Any]) -> tuple[float, float]:
    """Return the ends of a mean's interval; the mean itself where there is none."""
    if estimate.get("low") is None:
        return estimate["mean"], estimate["mean"]
    return estimate["low"], estimate["high"]
