"""What the runs of an experiment give as independent values.

A run gives one value of a metric for itself, for each flow entry and for each bottleneck link. An
entry's value is the mean over its flows. Runs that are unfaithful or failed are left out. Of a
repetition that was run again the newest run counts. Of bit-identical repetitions one counts,
because nothing in them is random: they are one observation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from results.experiment.experiments import Experiment, standing
from results.experiment.left_out import LeftOut
from results.experiment.values import (
    RunValues,
    Subject,
    by_name,
    mean_of_known,
    require_window,
    subjects,
)
from results.matrix.axes import Axis, order
from results.metrics import METRICS, Metric, Span, find, is_extracted, scopes_of
from results.metrics.base import Scope, Table, columns_of
from results.query.conditions import of_variants
from results.records.model import WHOLE, Number, RunRow, Variant
from results.store.metric_rows import MetricLayout
from results.store.store import Store
from results.store.stored import StoredRun

Series = tuple[Subject, str]
"""A metric's name, and what it is of."""

Places = npt.NDArray[np.intp]
"""Indices of values among those of a run."""


class SeriesColumn(NamedTuple):
    """A series, the places of its values, and those of ``Metric.finished``."""

    series: Series
    places: Places
    finished: Sequence[Places]


_TABLES: tuple[Table, Table] = ("runs", "tcp")
"""The short tables whose metrics are taken by default: of a run and of a flow."""

Chosen = Mapping[Scope, Sequence[Metric]]
"""Metrics by scope."""


@dataclass(frozen=True)
class Observation:
    """A metric's value in one run.

    ``parts`` has its values in equal parts of the window, and ``from_start`` in equal parts of the
    run with its warm-up. Both are empty if they were not asked for or mean nothing.
    """

    run: str
    seed: int
    repetition: int
    value: float
    parts: tuple[float, ...] = ()
    from_start: tuple[float, ...] = ()


@dataclass
class Coverage:
    """Of how much the values of a series are, over all runs that count.

    ``flows_n`` of ``flows_of`` flows have a value. ``ended`` of ``begun`` cases had ended by the
    end of their run, of a metric that only these have; of another one both are zero.
    """

    flows_n: int = 0
    flows_of: int = 0
    ended: int = 0
    begun: int = 0

    def add(self, values: Sequence[Number | None], finished: Sequence[int]) -> None:
        """Add the flows of a run, and the numbers of its cases that ended and that began."""
        self.flows_of += len(values)
        self.flows_n += sum(value is not None for value in values)
        if finished:
            self.ended += finished[0]
            self.begun += finished[1]


@dataclass
class VariantValues:
    """The runs of one variant that its means have, their values, and how many are left out.

    ``entries`` are the flow entries of its runs (or flows), those without values, too.
    """

    variant: Variant
    runs: list[RunRow] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    values: dict[Series, list[Observation]] = field(default_factory=dict)
    coverage: dict[Series, Coverage] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ValueSelection:
    """Which values to take.

    ``metrics`` are names; without any, those of the short tables. ``where`` keeps the variants that
    fit all conditions (:mod:`results.query.conditions`), and ``entries`` flow entries. ``flows``
    takes each flow instead of each entry. ``parts`` is the number of parts of the window for
    drifts; 0 for none. ``missing`` keeps a series of which no run has a value, without
    observations.
    """

    metrics: Sequence[str] = ()
    window: str = WHOLE
    where: Sequence[str] = ()
    entries: Sequence[str] = ()
    flows: bool = False
    parts: int = 0
    missing: bool = False


def observe(
    store: Store, experiment: Experiment, selection: ValueSelection
) -> tuple[list[VariantValues], list[Axis]]:
    """Return the variants' observations, in the order of the axes, and the axes.

    Raises:
        UsageError: there is no such metric, window or flow entry, or a condition is not valid.
    """
    chosen = _metrics(selection.metrics)
    there = experiment.axes()
    groups = list(filter(_kept(selection.where, there), _grouped(experiment, there)))
    _require_extracted(store, groups, selection.metrics)
    add = _add_with_parts if selection.parts else _add
    known = add(store, groups, chosen, selection)
    unknown = [entry for entry in selection.entries if entry not in known]
    if unknown and known:
        raise UsageError(
            f"there is no flow entry {unknown[0]}{suggest(unknown[0], known)}; "
            f"the entries are {', '.join(sorted(known))}"
        )
    if not selection.metrics:
        _leave_out_zeros(groups)
    return groups, there


def _leave_out_zeros(groups: Sequence[VariantValues]) -> None:
    """Leave out the metrics of the short tables that are shown only where a value is not zero."""
    optional = {
        metric.name
        for table in _TABLES
        for column, metric in columns_of(table)
        if column.where_not_zero
    }
    values = [
        (name, observations) for group in groups for (_, name), observations in group.values.items()
    ]
    shown = {
        name
        for name, observations in values
        if any(observation.value for observation in observations)
    }
    for group in groups:
        for subject, name in list(group.values):
            if name in optional - shown:
                del group.values[subject, name]
                group.coverage.pop((subject, name), None)


def _metrics(names: Sequence[str]) -> dict[Scope, list[Metric]]:
    """Return the metrics to take at each scope; links only where a metric has no other scope."""
    valid = list(dict.fromkeys(name for name, _scope in METRICS))
    for name in names:
        if name not in valid and not is_extracted(name):
            raise UsageError(
                f"there is no metric {name}{suggest(name, valid)}; the metrics are "
                f"{', '.join(valid)}"
            )
    if not names:
        run, flow = ([metric for _, metric in columns_of(table, in_text=True)] for table in _TABLES)
        return {"run": run, "flow": flow, "link": []}
    by_scope: dict[Scope, list[Metric]] = {"run": [], "flow": [], "link": []}
    for name in names:
        scopes = scopes_of(name)
        for scope in scopes:
            if scope != "link" or scopes == ["link"]:
                metric = find(name, scope)
                assert metric is not None, "it has this scope"
                by_scope[scope].append(metric)
    return by_scope


def _require_extracted(store: Store, groups: Sequence[VariantValues], names: Sequence[str]) -> None:
    """Raise UsageError unless runs have each named number of a program's output."""
    wanted = [name for name in names if is_extracted(name)]
    if not wanted or not groups:
        return
    known = store.extracted_metrics([row for group in groups for row in group.runs])
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"no program of these runs has the number {name}{suggest(name, known)}; "
                f"`extract` gives them {', '.join(known) or 'none'}"
            )


def _grouped(experiment: Experiment, there: Sequence[Axis]) -> list[VariantValues]:
    """Return the variants with the runs that count."""
    groups = [_group(rows) for rows in experiment.variants().values()]
    rank = order(there)
    return sorted(groups, key=lambda group: rank(group.variant))


def _group(rows: Sequence[RunRow]) -> VariantValues:
    """Return a variant of these runs, the oldest first."""
    group = VariantValues(rows[0].variant)
    newest: dict[tuple[int, int], RunRow] = {}
    for row in rows:
        if row.status == "ok":
            newest[row.repetition, row.seed] = row
    group.left_out.failed = sum(row.failed for row in standing(rows))
    digests: set[str | None] = set()
    for row in sorted(newest.values(), key=lambda row: row.repetition):
        if row.verdict == "unfaithful":
            group.left_out.unfaithful += 1
        elif row.digest is not None and row.digest in digests:
            group.left_out.identical += 1
        else:
            group.runs.append(row)
            digests.add(row.digest)
    return group


def _kept(where: Sequence[str], there: Sequence[Axis]) -> Callable[[VariantValues], bool]:
    """Return whether a variant fits all conditions."""
    try:
        holding = [of_variants(text, there) for text in where]
    except ValueError as error:
        raise UsageError(f"where: {error}") from None
    return lambda group: all(holds(group.variant) for holds in holding)


def _add(
    store: Store, groups: Sequence[VariantValues], chosen: Chosen, selection: ValueSelection
) -> set[str]:
    """Add the values of all runs to their groups; return the names of their flow entries."""
    rows = [(group, row) for group in groups for row in group.runs]
    columns: dict[MetricLayout, list[SeriesColumn]] = {}
    for (group, row), run in zip(rows, store.metric_rows([row for _, row in rows]), strict=True):
        if run.layout not in columns:
            require_window(row.id, selection.window, run.layout.windows)
            names = {name for *_of, name in run.layout.places}
            columns[run.layout] = list(
                _columns(run.layout, _with_extracted(chosen, names, selection), selection)
            )
        _note_entries(group, _names(run.layout, selection), selection)
        for column in columns[run.layout]:
            values = _known(run.values[column.places])
            observations = group.values.setdefault(column.series, [])
            coverage = group.coverage.setdefault(column.series, Coverage())
            coverage.add(values, [int(np.nansum(run.values[places])) for places in column.finished])
            if (value := mean_of_known(values)) is not None:
                observations.append(Observation(row.id, row.seed, row.repetition, value))
    if not selection.missing:
        _drop_empty(groups)
    return {name for layout in columns for name in _names(layout, selection)}


def _with_extracted(chosen: Chosen, names: Iterable[str], selection: ValueSelection) -> Chosen:
    """Return the metrics to take of runs; by default those of their programs' output, too."""
    if selection.metrics:
        return chosen
    extracted = [one for name in sorted(names) if is_extracted(name) if (one := find(name, "flow"))]
    return {**chosen, "flow": [*chosen["flow"], *extracted]} if extracted else chosen


def _known(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _note_entries(group: VariantValues, names: Iterable[str], selection: ValueSelection) -> None:
    for name in dict.fromkeys(names):
        if name not in group.entries and (not selection.entries or name in selection.entries):
            group.entries.append(name)


def _drop_empty(groups: Sequence[VariantValues]) -> None:
    for group in groups:
        group.values = {
            series: values
            for series, values in group.values.items()
            if values or is_extracted(series[1])  # a scenario asked for it
        }


def _columns(
    layout: MetricLayout, chosen: Chosen, selection: ValueSelection
) -> Iterator[SeriesColumn]:
    """Yield each wanted series of the runs with that layout, and the places of its values."""
    indices = by_name(_names(layout, selection))
    for subject in subjects(indices, layout.bottlenecks):
        if subject.flow is not None and selection.entries and subject.flow not in selection.entries:
            continue
        flows = [None] if subject.flow is None else indices[subject.flow]
        for metric in chosen[subject.scope]:
            places, *finished = (
                np.array(
                    [
                        layout.places[value_key]
                        for flow in flows
                        if (value_key := (selection.window, flow, subject.link, name))
                        in layout.places
                    ],
                    np.intp,
                )
                for name in (metric.name, *metric.finished)
            )
            if not len(places) and is_extracted(metric.name):
                continue  # other flows have it
            yield SeriesColumn((subject, metric.name), places, finished)


def _names(layout: MetricLayout, selection: ValueSelection) -> Sequence[str]:
    """Return the name of each flow's entry, or of each flow."""
    return layout.flows if selection.flows else layout.entries


def _add_with_parts(
    store: Store, groups: Sequence[VariantValues], chosen: Chosen, selection: ValueSelection
) -> set[str]:
    """Do as :func:`_add`, and add the values in parts of the window, which samples give."""
    known: set[str] = set()
    for group in groups:
        for run in store.load_many([row.id for row in group.runs]):
            known |= _add_run(group, run, chosen, selection)
    if not selection.missing:
        _drop_empty(groups)
    return known


def _add_run(
    group: VariantValues, run: StoredRun, chosen: Chosen, selection: ValueSelection
) -> set[str]:
    """Add a run's values to its group; return the names of its flow entries."""
    values = RunValues(run, selection.window, selection.flows)
    whole = Span(0.0, run.duration_s)
    _note_entries(group, values.entries, selection)
    chosen = _with_extracted(chosen, values.names(), selection)
    for subject in values.subjects():
        if subject.flow is not None and selection.entries and subject.flow not in selection.entries:
            continue
        for metric in chosen[subject.scope]:
            if is_extracted(metric.name) and metric.name not in values.names(subject.flow):
                continue  # other flows have it
            series = (subject, metric.name)
            observed = group.values.setdefault(series, [])
            coverage = group.coverage.setdefault(series, Coverage())
            coverage.add(
                values.of_flows(subject, metric.name),
                [int(values.total(subject, name)) for name in metric.finished],
            )
            value = values.value(subject, metric.name)
            if value is not None:
                parts = values.parts(subject, metric, values.window, selection.parts)
                start = values.parts(subject, metric, whole, 2 * selection.parts)
                row = run.row
                observed.append(Observation(run.id, row.seed, row.repetition, value, parts, start))
    return set(values.entries)
