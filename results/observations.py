"""What the runs of an experiment give as independent values.

A run gives one value of a metric for itself, for each flow entry and for each bottleneck link. An
entry's value is the mean over its flows. Runs that are unfaithful or failed are left out. Of a
repetition that was run again the newest run counts. Of bit-identical repetitions one counts,
because nothing in them is random: they are one observation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from results.axes import Axis, order
from results.conditions import of_variants
from results.experiments import Experiment
from results.left_out import LeftOut
from results.metric_rows import Layout
from results.metrics import METRICS, Metric, Span
from results.metrics.base import Scope, columns_of
from results.model import WHOLE, RunRow
from results.store import Store
from results.stored import StoredRun
from results.values import (
    RunValues,
    Subject,
    by_name,
    mean_of_known,
    require_window,
    subjects,
)

Series = tuple[Subject, str]
"""A metric's name, and what it is of."""

Column = tuple[Series, npt.NDArray[np.intp]]
"""A series, and the places of its values in those of a run."""

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
class VariantValues:
    """The runs of one variant that its means have, their values, and how many are left out."""

    variant: Mapping[str, Any]
    runs: list[RunRow] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    values: dict[Series, list[Observation]] = field(default_factory=dict)


@dataclass(frozen=True)
class ValueSelection:
    """Which values to take.

    ``metrics`` are names; without any, those of the short tables. ``where`` keeps the variants that
    fit all conditions (:mod:`results.conditions`), and ``entries`` flow entries. ``flows`` takes
    each flow instead of each entry. ``parts`` is the number of parts of the window for drifts; 0
    for none.
    """

    metrics: Sequence[str] = ()
    window: str = WHOLE
    where: Sequence[str] = ()
    entries: Sequence[str] = ()
    flows: bool = False
    parts: int = 0


def observe(
    store: Store, experiment: Experiment, wanted: ValueSelection
) -> tuple[list[VariantValues], list[Axis]]:
    """Return the variants' observations, in the order of the axes, and the axes.

    Raises:
        UsageError: there is no such metric, window or flow entry, or a condition is not valid.
    """
    chosen = _metrics(wanted.metrics)
    there = experiment.axes()
    groups = list(filter(_kept(wanted.where, there), _grouped(experiment, there)))
    add = _add_with_parts if wanted.parts else _add
    known = add(store, groups, chosen, wanted)
    unknown = [entry for entry in wanted.entries if entry not in known]
    if unknown and known:
        raise UsageError(
            f"there is no flow entry {unknown[0]}{suggest(unknown[0], known)}; "
            f"the entries are {', '.join(sorted(known))}"
        )
    return groups, there


def _metrics(names: Sequence[str]) -> dict[Scope, list[Metric]]:
    """Return the metrics to take at each scope; links only where a metric has no other scope."""
    valid = list(dict.fromkeys(name for name, _scope in METRICS))
    for name in names:
        if name not in valid:
            raise UsageError(
                f"there is no metric {name}{suggest(name, valid)}; the metrics are "
                f"{', '.join(valid)}"
            )
    if not names:
        run = [one for _column, one in columns_of("runs", in_text=True)]
        flow = [one for _column, one in columns_of("tcp", in_text=True)]
        return {"run": run, "flow": flow, "link": []}
    found: dict[Scope, list[Metric]] = {"run": [], "flow": [], "link": []}
    for name in names:
        scopes = [scope for (one, scope) in METRICS if one == name]
        for scope in scopes:
            if scope != "link" or scopes == ["link"]:
                found[scope].append(METRICS[name, scope])
    return found


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
        else:
            group.left_out.failed += row.status != "running"
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
    store: Store, groups: Sequence[VariantValues], chosen: Chosen, wanted: ValueSelection
) -> set[str]:
    """Add the values of all runs to their groups; return the names of their flow entries."""
    rows = [(group, row) for group in groups for row in group.runs]
    columns: dict[Layout, list[Column]] = {}
    for (group, row), run in zip(rows, store.metric_rows([row for _, row in rows]), strict=True):
        if run.layout not in columns:
            require_window(row.id, wanted.window, run.layout.windows)
            columns[run.layout] = list(_columns(run.layout, chosen, wanted))
        for series, places in columns[run.layout]:
            value = mean_of_known(run.values[places].tolist())
            if value is not None:
                observation = Observation(row.id, row.seed, row.repetition, value)
                group.values.setdefault(series, []).append(observation)
    return {name for layout in columns for name in _names(layout, wanted)}


def _columns(layout: Layout, chosen: Chosen, wanted: ValueSelection) -> Iterator[Column]:
    """Yield each wanted series of the runs with that layout, and the places of its values."""
    indices = by_name(_names(layout, wanted))
    for subject in subjects(indices, layout.bottlenecks):
        if subject.flow is not None and wanted.entries and subject.flow not in wanted.entries:
            continue
        flows = [None] if subject.flow is None else indices[subject.flow]
        for one in chosen[subject.scope]:
            places = [(wanted.window, flow, subject.link, one.name) for flow in flows]
            known = [layout.places[place] for place in places if place in layout.places]
            yield (subject, one.name), np.array(known, np.intp)


def _names(layout: Layout, wanted: ValueSelection) -> Sequence[str]:
    """Return the name of each flow's entry, or of each flow."""
    return layout.flows if wanted.flows else layout.entries


def _add_with_parts(
    store: Store, groups: Sequence[VariantValues], chosen: Chosen, wanted: ValueSelection
) -> set[str]:
    """Do as :func:`_add`, and add the values in parts of the window, which samples give."""
    known: set[str] = set()
    for group in groups:
        for run in store.load_many([row.id for row in group.runs]):
            known |= _add_run(group, run, chosen, wanted)
    return known


def _add_run(
    group: VariantValues, run: StoredRun, chosen: Chosen, wanted: ValueSelection
) -> set[str]:
    """Add a run's values to its group; return the names of its flow entries."""
    values = RunValues(run, wanted.window, wanted.flows)
    whole = Span(0.0, run.duration_s)
    for subject in values.subjects():
        if subject.flow is not None and wanted.entries and subject.flow not in wanted.entries:
            continue
        for one in chosen[subject.scope]:
            value = values.value(subject, one.name)
            if value is not None:
                parts = values.parts(subject, one, values.window, wanted.parts)
                start = values.parts(subject, one, whole, 2 * wanted.parts)
                row = run.row
                observation = Observation(run.id, row.seed, row.repetition, value, parts, start)
                group.values.setdefault((subject, one.name), []).append(observation)
    return set(values.entries)
