"""Formats tables of metrics as text; the metrics come from the registry of ``results.metrics``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.cli.render import terminal
from results.metrics import columns_of, of_scope, of_values
from results.wording import quantities

if TYPE_CHECKING:
    from results.metrics import Metric, TableColumn
    from results.metrics.base import Scope, Table
    from results.records.model import Values

_SUBJECTS_PER_TABLE = 6
"""Most flows or links side by side in a table of further metrics."""

_MOST_SUBJECTS = 24
"""Most flows or links in all tables of further metrics."""


def columns(table: Table, subjects: Sequence[Values]) -> list[tuple[str, Metric]]:
    """Return (heading with unit, metric) of the columns of a short table that have values."""
    return [
        (_heading(column, metric), metric)
        for column, metric in columns_of(table, in_text=True)
        if not column.where_not_zero or any(subject.get(metric.name) for subject in subjects)
    ]


def _heading(column: TableColumn, one: Metric) -> str:
    unit = quantities.unit(one.unit)
    return f"{column.heading} {unit}" if quantities.is_scaled(one.unit) else column.heading


def cells(shown: Sequence[tuple[str, Metric]], subject: Values) -> list[str]:
    """Return a subject's values of those columns."""
    return [
        quantities.quantity(subject.get(metric.name), metric.unit) for _heading, metric in shown
    ]


def summary(metrics: Values) -> str:
    """Return the main metrics of a run on one line."""
    return ", ".join(
        f"{column.heading} {quantities.quantity(metrics.get(metric.name), metric.unit)}"
        for column, metric in columns_of("run", in_text=True)
        if not column.where_not_zero or metrics.get(metric.name)
    )


def of_run(metrics: Values) -> Any:
    """Return the table of every metric of a run."""
    rows = [
        [
            metric.name,
            quantities.quantity(metrics[metric.name], metric.unit),
            quantities.unit(metric.unit),
        ]
        for metric in of_scope("run")
        if metric.name in metrics
    ]
    return terminal.table(["metric", "value", "unit"], rows, right=(1,))


def further(scope: Scope, subjects: Mapping[str, Values], shown: Sequence[Table]) -> Iterator[Any]:
    """Yield tables of the metrics of flows or links that the short tables leave out.

    A table has a line for each metric that has a value, and a few subjects side by side. Only the
    first subjects are shown when there are many.
    """
    seen = {one.name for table in shown for _, one in columns_of(table, in_text=True)}
    metrics = [one for one in of_values(scope, subjects.values()) if one.name not in seen]
    chosen = list(subjects)[:_MOST_SUBJECTS]
    for first in range(0, len(chosen), _SUBJECTS_PER_TABLE):
        names = chosen[first : first + _SUBJECTS_PER_TABLE]
        rows = [
            [
                one.name,
                *(quantities.quantity(subjects[name].get(one.name), one.unit) for name in names),
                quantities.unit(one.unit),
            ]
            for one in metrics
            if any(subjects[name].get(one.name) is not None for name in names)
        ]
        if rows:
            headings = [f"metric of {scope}", *names, "unit"]
            yield terminal.table(headings, rows, right=range(1, len(names) + 1))


def left_out(subjects: Mapping[str, Values]) -> int:
    """Return how many subjects :func:`further` leaves out."""
    return max(len(subjects) - _MOST_SUBJECTS, 0)
