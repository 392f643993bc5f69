"""An experiment as one tidy table: rows are runs, windows and flows, and columns are metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_all
from results.experiment.experiments import Experiment
from results.matrix.axes import Axis, key, shown
from results.metrics import METRICS, Metric, any_scope
from results.records.model import WHOLE, Variant
from results.store.store import Store
from results.store.stored import StoredRun
from results.tables import parquet
from results.tables.csv_lines import CsvLines

Row = dict[str, Any]

Columns = Mapping[str, parquet.Kind]
"""The type of each column by its name, in their order."""

Take = Callable[[Iterable[Row]], None]
"""Writes a group of rows into a file that is open."""


def rows(store: Store, experiment: Experiment) -> Iterator[Row]:
    """Yield the rows of :func:`rows_of` of the experiment's runs, each read when it is its turn.

    Of a repetition that was made again, the newest run alone is there, as in means.
    """
    counting = experiment.counting()
    runs = (store.load(row.id) for row in counting)
    return rows_of(runs, experiment.axes(), store.extracted_metrics(counting))


def rows_of(
    runs: Iterable[StoredRun], there: Sequence[Axis], extracted: Iterable[str]
) -> Iterator[Row]:
    """Yield a row for each run that is ok, for each window of it (empty for the whole run).

    The first row of a run and window is of the run itself and has no flow. Values of axes stand as
    in the scenario. An axis of numbers has a second column with them, such as ``limit [BDP]``.
    Metrics are in SI units; a row has no value of a metric of another scope. ``extracted`` names
    those of programs' output.
    """
    names = [metric.name for metric in columns_of_metrics(extracted)]
    for run in runs:
        row = run.row
        if row.status != "ok":
            continue
        identity = {"run": row.id, **axis_columns(row.variant, there), "repetition": row.repetition,
                 "seed": row.seed, "verdict": row.verdict}  # fmt: skip
        for window, values in run.metrics().items():
            of = {**identity, "window": "" if window == WHOLE else window}
            yield {**of, "flow": "", "entry": "", "congestion_control": "",
                   **{name: values.run.get(name) for name in names}}  # fmt: skip
            for flow, entry, flow_values in zip(run.flows, run.entries, values.flows, strict=True):
                yield {**of, "flow": flow.name, "entry": entry,
                       "congestion_control": flow.congestion_control or "",
                       **{name: flow_values.get(name) for name in names}}  # fmt: skip


def columns_of_metrics(extracted: Iterable[str]) -> list[Metric]:
    """Return the metrics that are columns; the last ones are those of programs' output."""
    by_name = {metric.name: metric for metric in METRICS.values() if metric.scope != "link"}
    return [*by_name.values(), *map(any_scope, extracted)]


def kinds(experiment: Experiment, extracted: Iterable[str]) -> dict[str, parquet.Kind]:
    """Return the type of each column of :func:`rows`, in their order.

    It depends on the experiment's axes and the metrics of programs' output, ``extracted``, only,
    not on the values of its runs.
    """
    by_column: dict[str, parquet.Kind] = {"run": "text"}
    for axis in experiment.axes():
        by_column[axis.label] = "text"
        if axis.numbers is not None:
            by_column[f"{axis.label} [{axis.unit}]"] = "number"
    by_column |= {"repetition": "integer", "seed": "integer", "verdict": "text", "window": "text",
              "flow": "text", "entry": "text", "congestion_control": "text"}  # fmt: skip
    for metric in columns_of_metrics(extracted):
        by_column[metric.name] = "integer" if metric.counts else "number"
    return by_column


def axis_columns(variant: Variant, there: Sequence[Axis]) -> Row:
    """Return the columns of a variant: its values as in the scenario, and as numbers."""
    columns: Row = {}
    for axis in there:
        value = variant.get(axis.path)
        columns[axis.label] = None if axis.path not in variant else shown(value)
        if axis.numbers is not None:
            by_value = dict(zip(map(key, axis.values), axis.numbers, strict=True))
            columns[f"{axis.label} [{axis.unit}]"] = by_value.get(key(value))
    return columns


def write(
    store: Store, experiment: Experiment, paths: Mapping[str, Path], force: bool = False
) -> None:
    """Write the table to files by their format; runs are read once for all of them.

    At most ``parquet.GROUP`` rows are in memory at a time.

    Raises:
        UsageError: a file exists (unless ``force``) or cannot be written, or no run is ok.
    """
    table = _some_rows(store, experiment)
    columns = kinds(experiment, store.extracted_metrics(experiment.counting()))

    def write_drafts(drafts: Sequence[Path]) -> None:
        with ExitStack() as files:
            writers = [
                files.enter_context(WRITERS[name](draft, experiment, columns))
                for name, draft in zip(paths, drafts, strict=True)
            ]
            while group := list(islice(table, parquet.GROUP)):
                for take in writers:
                    take(group)

    write_all(list(paths.values()), force, write_drafts)


def csv_writer(file: TextIO, columns: Mapping[str, parquet.Kind]) -> Take:
    """Write the headings, and return the function that writes rows."""
    lines = CsvLines(file)
    lines.add(columns)
    texts = [at for at, kind in enumerate(columns.values()) if kind == "text"]

    def take(rows: Iterable[Row]) -> None:
        lines.add_all(([row[name] for name in columns] for row in rows), texts)

    return take


@contextmanager
def _csv(path: Path, _experiment: Experiment, columns: Columns) -> Iterator[Take]:
    """FILE.csv: the table as text; missing values are empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        yield csv_writer(file, columns)


@contextmanager
def _parquet(path: Path, experiment: Experiment, columns: Columns) -> Iterator[Take]:
    """FILE.parquet: the table with text, integers and doubles; missing values are null."""
    about = {"experiment": experiment.name, "identity": experiment.identity}
    written = path.open("wb")
    with written as file, parquet.Writer(file, columns, about, parquet.WRITER) as writer:

        def take(rows: Iterable[Row]) -> None:
            group = list(rows)
            writer.add([[row[name] for row in group] for name in columns])

        yield take


def _some_rows(store: Store, experiment: Experiment) -> Iterator[Row]:
    """Return the rows; UsageError when there is none."""
    table = rows(store, experiment)
    first = next(table, None)
    if first is None:
        raise UsageError(f"{experiment.label} has no run that ended ok: there is nothing to write")
    return chain([first], table)


WRITERS: dict[str, Callable[[Path, Experiment, Columns], AbstractContextManager[Take]]] = {
    "csv": _csv,
    "parquet": _parquet,
}
"""The formats of the table by name. A docstring's first paragraph describes one to users."""
