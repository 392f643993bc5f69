"""An experiment as one tidy table: rows are runs, windows and flows, and columns are metrics."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from orchestrator import __version__
from orchestrator.errors import UsageError
from results import parquet
from results.axes import Axis, key, shown
from results.experiments import Experiment
from results.export.base import write_all
from results.metrics import METRICS
from results.model import WHOLE
from results.store import Store

Row = dict[str, Any]


def rows(store: Store, experiment: Experiment) -> Iterator[Row]:
    """Yield a row for each run that is ok, for each window of it (empty for the whole run).

    The first row of a run and window is of the run itself and has no flow. Values of axes stand as
    in the scenario. An axis of numbers has a second column with them, such as ``limit [BDP]``.
    Metrics are in SI units; a row has no value of a metric of another scope.
    """
    there = experiment.axes()
    names = list(dict.fromkeys(name for name, scope in METRICS if scope != "link"))
    for row in experiment.rows:
        if row.status != "ok":
            continue
        run = store.load(row.id)
        place = {"run": row.id, **_place(row.variant, there), "repetition": row.repetition,
                 "seed": row.seed, "verdict": row.verdict}  # fmt: skip
        for window, values in run.metrics().items():
            of = {**place, "window": "" if window == WHOLE else window}
            yield {**of, "flow": "", "entry": "", "congestion_control": "",
                   **{name: values.run.get(name) for name in names}}  # fmt: skip
            for flow, entry, found in zip(run.flows, run.entries, values.flows, strict=True):
                yield {**of, "flow": flow.name, "entry": entry,
                       "congestion_control": flow.congestion_control or "",
                       **{name: found.get(name) for name in names}}  # fmt: skip


def kinds(experiment: Experiment) -> dict[str, parquet.Kind]:
    """Return the type of each column of :func:`rows`, in their order.

    It depends on the experiment's axes only, not on the values of its runs.
    """
    found: dict[str, parquet.Kind] = {"run": "text"}
    for axis in experiment.axes():
        found[axis.label] = "text"
        if axis.numbers is not None:
            found[f"{axis.label} [{axis.unit}]"] = "number"
    found |= {"repetition": "integer", "seed": "integer", "verdict": "text", "window": "text",
              "flow": "text", "entry": "text", "congestion_control": "text"}  # fmt: skip
    for one in METRICS.values():
        if one.scope != "link":
            found[one.name] = "integer" if one.counts else "number"
    return found


def _place(variant: Any, there: list[Axis]) -> Row:
    """Return the columns of a variant."""
    found: Row = {}
    for axis in there:
        value = variant.get(axis.path)
        found[axis.label] = None if axis.path not in variant else shown(value)
        if axis.numbers is not None:
            by_value = dict(zip(map(key, axis.values), axis.numbers, strict=True))
            found[f"{axis.label} [{axis.unit}]"] = by_value.get(key(value))
    return found


def write_csv(store: Store, experiment: Experiment, path: Path, force: bool = False) -> None:
    """FILE.csv: the table as text; missing values are empty.

    Raises:
        UsageError: the file exists (unless ``force``) or cannot be written, or no run is ok.
    """
    table = _some_rows(store, experiment)

    def write(drafts: Sequence[Path]) -> None:
        with drafts[0].open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, list(kinds(experiment)), lineterminator="\n")
            lines.writeheader()
            lines.writerows(table)

    write_all([path], force, write)


def write_parquet(store: Store, experiment: Experiment, path: Path, force: bool = False) -> None:
    """FILE.parquet: the table with text, integers and doubles; missing values are null.

    Raises:
        UsageError: the file exists (unless ``force``) or cannot be written, or no run is ok.
    """
    table = list(_some_rows(store, experiment))
    columns = [
        parquet.Column(name, kind, [row[name] for row in table])
        for name, kind in kinds(experiment).items()
    ]
    about = {"experiment": experiment.name, "identity": experiment.identity}
    content = parquet.table(columns, about, f"tcp-orchestrator version {__version__}")

    def write(drafts: Sequence[Path]) -> None:
        drafts[0].write_bytes(content)

    write_all([path], force, write)


def _some_rows(store: Store, experiment: Experiment) -> Iterator[Row]:
    """Return the rows; UsageError when there is none."""
    table = rows(store, experiment)
    first = next(table, None)
    if first is None:
        raise UsageError(f"{experiment.label} has no run that ended ok: there is nothing to write")
    return chain([first], table)


WRITERS: dict[str, Callable[[Store, Experiment, Path, bool], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}
"""The formats of the table by name; a docstring's first paragraph describes it to users."""
