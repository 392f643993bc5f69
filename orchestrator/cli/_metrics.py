"""Formats tables of metrics as text; the metrics come from the registry of ``results.metrics``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.cli import _output

if TYPE_CHECKING:
    from results.metrics import Column, Metric
    from results.metrics.base import Scope, Table

Document = Mapping[str, Any]

_SUBJECTS_PER_TABLE = 6
"""Most flows or links side by side in a table of further metrics."""

_MOST_SUBJECTS = 24
"""Most flows or links in all tables of further metrics."""

_SCALED = {"bit/s": (1e6, "Mbit/s"), "s": (1e-3, "ms")}
_COUNTED = ("packets", "segments", "bytes")


def unit(stored: str) -> str:
    """Return the unit in which :func:`quantity` gives values stored in that unit; may be empty."""
    return _SCALED[stored][1] if stored in _SCALED else "" if stored == "1" else stored


def scale(stored: str) -> float:
    """Return the size of :func:`unit` in the stored unit."""
    return _SCALED[stored][0] if stored in _SCALED else 1.0


def quantity(value: object, stored: str) -> str:
    """Return a value in that stored unit as text in a readable unit."""
    if value is None:
        return _output.NO_VALUE
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if stored in _SCALED:
        return _output.number(value, 3, _SCALED[stored][0])
    whole = stored in _COUNTED or isinstance(value, int)
    return _output.integer(value) if whole else f"{value:#.4g}"


def columns(table: Table, subjects: Sequence[Document]) -> list[tuple[str, Metric]]:
    """Return (heading with unit, metric) of the columns of a short table that have values."""
    from results.metrics import columns_of

    return [
        (_heading(column, one), one)
        for column, one in columns_of(table, in_text=True)
        if not column.where_not_zero or any(subject.get(one.name) for subject in subjects)
    ]


def _heading(column: Column, one: Metric) -> str:
    return f"{column.heading} {_SCALED[one.unit][1]}" if one.unit in _SCALED else column.heading


def cells(shown: Sequence[tuple[str, Metric]], subject: Document) -> list[str]:
    """Return a subject's values of those columns."""
    return [quantity(subject.get(one.name), one.unit) for _heading, one in shown]


def summary(metrics: Document) -> str:
    """Return the main metrics of a run on one line."""
    from results.metrics import columns_of

    return ", ".join(
        f"{column.heading} {quantity(metrics.get(one.name), one.unit)}"
        for column, one in columns_of("run", in_text=True)
    )


def of_run(metrics: Document) -> Any:
    """Return the table of every metric of a run."""
    from results.metrics import of_scope

    rows = [
        [one.name, quantity(metrics[one.name], one.unit), unit(one.unit)]
        for one in of_scope("run")
        if one.name in metrics
    ]
    return _output.table(["metric", "value", "unit"], rows, right=(1,))


def further(
    scope: Scope, subjects: Mapping[str, Document], shown: Sequence[Table]
) -> Iterator[Any]:
    """Yield tables of the metrics of flows or links that the short tables leave out.

    A table has a line for each metric that has a value, and a few subjects side by side. Only the
    first subjects are shown when there are many.
    """
    from results.metrics import columns_of, of_scope

    seen = {one.name for table in shown for _, one in columns_of(table, in_text=True)}
    metrics = [one for one in of_scope(scope) if one.name not in seen]
    chosen = list(subjects)[:_MOST_SUBJECTS]
    for first in range(0, len(chosen), _SUBJECTS_PER_TABLE):
        names = chosen[first : first + _SUBJECTS_PER_TABLE]
        rows = [
            [one.name, *(quantity(subjects[name].get(one.name), one.unit) for name in names),
             unit(one.unit)]
            for one in metrics
            if any(subjects[name].get(one.name) is not None for name in names)
        ]  # fmt: skip
        if rows:
            headings = [f"metric of {scope}", *names, "unit"]
            yield _output.table(headings, rows, right=range(1, len(names) + 1))


def left_out(subjects: Mapping[str, Document]) -> int:
    """Return how many subjects :func:`further` leaves out."""
    return max(len(subjects) - _MOST_SUBJECTS, 0)
