"""What the runs of an experiment give as independent values.

A run gives one value of a metric for itself, for each flow entry and for each bottleneck link. An
entry's value is the mean over its flows. Runs that are unfaithful or failed are left out. Of a
repetition that was run again the newest run counts. Of repetitions that are equal to the bit one
counts, because nothing in them is random: they are one observation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER
from orchestrator.suggestions import suggest
from results import metrics
from results.axes import Axis, key, named, shown
from results.experiments import Experiment
from results.metrics import METRICS, Metric
from results.metrics.base import Scope, columns_of
from results.model import WHOLE, RunRow, WindowMetrics
from results.store import Store
from results.stored import StoredRun

LEAST_PARTS = 5
"""With fewer parts, a series says nothing about a drift."""


@dataclass(frozen=True)
class Subject:
    """What a value is of: the run (both None), a flow entry or flow, or a link."""

    flow: str | None = None
    link: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope of its metrics."""
        return "flow" if self.flow is not None else "link" if self.link is not None else "run"


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
class Group:
    """The runs of one variant.

    ``identical`` counts repetitions that are equal to the bit to an earlier one, and ``repeated``
    runs that a newer run of the same repetition replaces.
    """

    variant: Mapping[str, Any]
    runs: list[RunRow] = field(default_factory=list)
    unfaithful: int = 0
    failed: int = 0
    identical: int = 0
    repeated: int = 0
    values: dict[tuple[Subject, str], list[Observation]] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """Which values to take.

    ``metrics`` are names; without any, those of the short tables. ``where`` keeps variants by
    ``axis=value``, and ``entries`` flow entries. ``flows`` takes each flow instead of each entry.
    ``parts`` is the number of parts of the window for drifts; 0 for none.
    """

    metrics: Sequence[str] = ()
    window: str = WHOLE
    where: Sequence[str] = ()
    entries: Sequence[str] = ()
    flows: bool = False
    parts: int = 0


def observe(store: Store, experiment: Experiment, wanted: Wanted) -> tuple[list[Group], list[Axis]]:
    """Return the variants' observations, in the order of the axes, and the axes.

    Raises:
        UsageError: there is no such metric, window, axis, value or flow entry.
    """
    chosen = _metrics(wanted.metrics)
    there = experiment.axes()
    groups = [each for each in _grouped(experiment, there) if _is_kept(each, there, wanted.where)]
    known: set[str] = set()
    for group in groups:
        for row in group.runs:
            known |= _add(group, store.load(row.id), chosen, wanted)
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


def _grouped(experiment: Experiment, there: Sequence[Axis]) -> list[Group]:
    """Return the variants with the runs that count."""
    groups: dict[str, Group] = {}
    newest: dict[tuple[str, int, int], RunRow] = {}
    for row in experiment.rows:
        group = groups.setdefault(key(dict(row.variant)), Group(row.variant))
        if row.status != "ok":
            group.failed += row.status != "running"
            continue
        place = (key(dict(row.variant)), row.repetition, row.seed)
        if place in newest:
            group.repeated += 1
        newest[place] = row
    for (variant, *_), row in sorted(newest.items(), key=lambda each: each[1].repetition):
        _count(groups[variant], row)
    order = {axis.path: [key(value) for value in axis.values] for axis in there}
    return sorted(groups.values(), key=lambda group: _rank(group.variant, order))


def _count(group: Group, row: RunRow) -> None:
    if row.verdict == "unfaithful":
        group.unfaithful += 1
    elif row.digest is not None and row.digest in {other.digest for other in group.runs}:
        group.identical += 1
    else:
        group.runs.append(row)


def _rank(variant: Mapping[str, Any], order: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    return tuple(
        values.index(key(variant[path])) if path in variant else -1
        for path, values in order.items()
    )


def _is_kept(group: Group, there: Sequence[Axis], where: Sequence[str]) -> bool:
    """Tell whether a variant fits all conditions ``axis=value``."""
    for condition in where:
        label, equals, text = condition.partition("=")
        if not equals:
            raise UsageError(f"{condition}: give an axis and a value of it, AXIS=VALUE")
        axis = named(label.strip(), there)
        valid = [shown(value) for value in axis.values]
        if text.strip() not in valid:
            raise UsageError(
                f"{condition}: {axis.label} has no value {text.strip()}"
                f"{suggest(text.strip(), valid)}; its values are {', '.join(valid)}"
            )
        if axis.path not in group.variant or shown(group.variant[axis.path]) != text.strip():
            return False
    return True


def _add(
    group: Group, run: StoredRun, chosen: Mapping[Scope, Sequence[Metric]], wanted: Wanted
) -> set[str]:
    """Add a run's values to its group; return the names of its flow entries."""
    if wanted.window not in run.metrics():
        valid = [name for name in run.metrics() if name != WHOLE]
        listed = f"its windows are {', '.join(valid)}" if valid else "it has none"
        raise UsageError(f"run {run.id} has no window {wanted.window}; {listed}")
    values = run.metrics()[wanted.window]
    entries = _entries(run, wanted.flows)
    for subject, indices in _subjects(run, entries, wanted):
        for one in chosen[subject.scope]:
            value = _mean(_value(values, subject, index, one.name) for index in indices)
            if value is None:
                continue
            window = metrics.spans(run)[wanted.window]
            parts = _parts(run, one, indices, window, wanted.parts)
            whole = metrics.Span(0.0, run.duration_s)
            start = _parts(run, one, indices, whole, 2 * wanted.parts)
            row = run.row
            observation = Observation(run.id, row.seed, row.repetition, value, parts, start)
            group.values.setdefault((subject, one.name), []).append(observation)
    return set(entries)


def _entries(run: StoredRun, flows: bool) -> dict[str, list[int]]:
    """Return the indices of the flows of each entry; of each flow if that is asked for."""
    found: dict[str, list[int]] = {}
    names = [flow.name for flow in run.flows] if flows else run.entries
    for index, name in enumerate(names):
        found.setdefault(name, []).append(index)
    return found


def _subjects(
    run: StoredRun, entries: Mapping[str, list[int]], wanted: Wanted
) -> list[tuple[Subject, list[int | str | None]]]:
    found: list[tuple[Subject, list[int | str | None]]] = [(Subject(), [None])]
    found += [
        (Subject(flow=entry), list(indices))
        for entry, indices in entries.items()
        if not wanted.entries or entry in wanted.entries
    ]
    for name, index in metrics.link_indices(run).items():
        if run.queues[index].bottleneck:
            found.append((Subject(link=name), [name]))
    return found


def _value(
    values: WindowMetrics, subject: Subject, index: int | str | None, name: str
) -> float | None:
    if subject.scope == "flow":
        assert isinstance(index, int)
        return values.flows[index].get(name)
    return values.of(None, subject.link).get(name)


def _mean(values: Any) -> float | None:
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _parts(
    run: StoredRun,
    one: Metric,
    indices: Sequence[int | str | None],
    span: metrics.Span,
    number: int,
) -> tuple[float, ...]:
    """Return the values in the parts of a span; an entry's are the means over its flows."""
    if not number or not one.averages or one.scope == "link":
        return ()
    number = min(number, int(span.length_s / _period_s(run)))
    if number < LEAST_PARTS:
        return ()
    series = [
        metrics.in_parts(run, one, index, span, number)
        for index in indices
        if not isinstance(index, str)
    ]
    means = [_mean(x for x in each if not math.isnan(x)) for each in zip(*series, strict=True)]
    return tuple(math.nan if each is None else each for each in means)


def _period_s(run: StoredRun) -> float:
    """Return the time between samples; shorter parts would have no sample, or one too many."""
    for index, flow in enumerate(run.flows):
        if flow.transport == "tcp":
            times_ns = run.tcp_columns(index, SENDER)["time_ns"]
            if len(times_ns) > 1:
                return max(float(np.median(np.diff(times_ns))) / 1e9, _LEAST_PERIOD_S)
    return _LEAST_PERIOD_S


_LEAST_PERIOD_S = 0.001
