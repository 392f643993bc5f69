"""The columns of the list of runs: those that there are, and those that a visitor chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from werkzeug.datastructures import MultiDict

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from results.matrix.axes import shown
from results.metrics import columns_of, of_scope
from results.runs.model import ListedRun
from web.html import formats
from web.views import run_view

MOST = 200
"""Columns of one table."""

ID = "id"
"""The column that leads to each run's page; the table always has it."""


@dataclass(frozen=True)
class RunsColumn:
    """A column. ``name`` is that of ``orchestrator runs --sort``, unless not ``sortable``.

    ``text`` returns what a cell shows. Without it the template has the cell of that name.
    """

    name: str
    heading: str
    group: str
    definition: str = ""
    text: Callable[[ListedRun], str] | None = None
    number: bool = False
    dim: bool = False
    sortable: bool = True

    @cached_property
    def classes(self) -> str:
        """The CSS classes of its cells."""
        return " ".join([*(["n"] if self.number else []), *(["dim"] if self.dim else [])])


def columns(labels: Mapping[str, str]) -> list[RunsColumn]:
    """Return all columns from left to right; ``labels`` has those of axes by their paths.

    An axis that has the name of another column has none of its own, as in ``--sort``.
    """
    fixed = _fixed()
    names = {column.name for column in fixed}
    axes = [_axis(path, label) for path, label in labels.items() if path not in names]
    return [*fixed[:2], *axes, *fixed[2:]]


def _fixed() -> list[RunsColumn]:
    """Return the columns of any store: variant and congestion controls first."""
    return [
        RunsColumn("variant", "Variant", _SETTINGS, "values on all axes", sortable=False),
        RunsColumn("congestion", "Congestion controls", _SETTINGS),
        RunsColumn("status", "Status", _RUN),
        RunsColumn("verdict", "Verdict", _RUN),
        *_metrics(),
        RunsColumn("experiment", "Experiment", _RUN),
        _field("scenario", "Scenario"),
        _field("repetition", "Repetition", number=True),
        RunsColumn(ID, "Run", _RUN),
        RunsColumn("tag", "Tags", _RUN),
        RunsColumn("notes", "Notes", _RUN, sortable=False),
        RunsColumn("started_utc", "Started (UTC)", _RUN, "", _started, dim=True),
        RunsColumn("wall_s", "Wall", _RUN, "wall time", _of("wall_s", formats.time), number=True),
        RunsColumn(
            "simulated_s", "Simulated", _RUN, "simulated time",
            _of("simulated_s", formats.time), number=True,
        ),
        _field("seed", "Seed", number=True, dim=True),
        _field("backend", "Back end"),
        _field("kernel", "Kernel"),
        _field("link_model", "Link model", number=True),
        RunsColumn(
            "digest", "Digest", _RUN, "of what was measured",
            lambda run: (run.row.digest or formats.NONE)[:16], dim=True,
        ),
    ]  # fmt: skip


def usual() -> list[str]:
    """Return the names of the columns that the table has unless others are chosen."""
    shown_metrics = [
        metric.name for column, metric in columns_of("runs") if not column.where_not_zero
    ]
    return [*_USUAL[:4], *shown_metrics, *_USUAL[4:]]


def chosen(args: MultiDict[str, str], there: Sequence[RunsColumn]) -> list[RunsColumn]:
    """Return the columns of ``column`` in the address, or the usual ones, and those of ``metric``.

    Raises:
        UsageError: there is no column of a name.
    """
    known = {column.name for column in there}
    metrics = {metric.name for metric in of_scope("run")}
    names_chosen = list(dict.fromkeys(args.getlist("column")))
    for name in names_chosen:
        _require("column", name, known)
    for name in args.getlist("metric"):
        _require("metric", name, metrics)
    if len(names_chosen) > MOST:
        raise UsageError(f"column: choose at most {MOST}, not {len(names_chosen)}")
    names = {*(names_chosen or usual()), *args.getlist("metric"), ID}
    return [column for column in there if column.name in names]


def _require(parameter: str, name: str, valid: set[str]) -> None:
    if name not in valid:
        names = sorted(valid)
        raise UsageError(
            f"{parameter}={name} is not one of {', '.join(names)}{suggest(name, names)}"
        )


_SETTINGS, _METRICS, _RUN = "Settings", "Metrics", "Run"

_USUAL = (
    "variant", "congestion", "status", "verdict", "experiment", "repetition", ID, "started_utc",
    "wall_s", "seed",
)  # fmt: skip


def _axis(path: str, label: str) -> RunsColumn:
    def text(run: ListedRun) -> str:
        return shown(run.variant[path]) if path in run.variant else formats.NONE

    return RunsColumn(path, label, _SETTINGS, path, text, number=True)


def _metrics() -> list[RunsColumn]:
    """Return a column for each metric of a run: those that a list shows are the first."""
    brief = run_view.short_columns("runs", [])
    known = {metric.name for metric in brief}
    all_columns = [
        *brief,
        *(metric for metric in run_view.all_metrics("run") if metric.name not in known),
    ]
    return [
        RunsColumn(
            metric.name,
            metric.heading,
            _METRICS,
            metric.definition,
            _of_metric(metric),
            number=True,
        )
        for metric in all_columns
    ]


def _of_metric(metric: run_view.MetricColumn) -> Callable[[ListedRun], str]:
    return lambda run: metric.of(run.metrics)


def _field(name: str, heading: str, number: bool = False, dim: bool = False) -> RunsColumn:
    return RunsColumn(name, heading, _RUN, "", _of(name, _text), number, dim)


def _of(name: str, form: Callable[[Any], str]) -> Callable[[ListedRun], str]:
    return lambda run: form(run.field(name))


def _text(value: object) -> str:
    return formats.NONE if value is None else str(value)


def _started(run: ListedRun) -> str:
    return formats.moment(run.row.started_utc)[:16]
