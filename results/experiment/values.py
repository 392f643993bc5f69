"""A run's values of a metric: of itself, of its flow entries and of its bottleneck links."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER
from results import metrics
from results.metrics import Metric
from results.metrics.base import Scope
from results.metrics.regular import RegularRun
from results.records.model import WHOLE, Number
from results.store.stored import StoredRun

LEAST_PARTS = 5
"""With fewer parts, a series says nothing about a drift."""

_LEAST_PERIOD_S = 0.1
"""The period of the samples that every run has; see results.metrics.regular."""


@dataclass(frozen=True)
class Subject:
    """What a value is of: the run (both None), a flow entry or flow, or a link."""

    flow: str | None = None
    link: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope of its metrics."""
        return "flow" if self.flow is not None else "link" if self.link is not None else "run"


class RunValues:
    """The values of a run in one window. An entry's value is the mean over its flows.

    With ``each_flow``, subjects are flows in place of flow entries.

    Raises:
        UsageError: the run has no such window.
    """

    def __init__(self, run: StoredRun, window: str = WHOLE, each_flow: bool = False) -> None:
        require_window(run.id, window, run.metrics())
        self.run = run
        self.window = metrics.spans(run)[window]
        self._values = run.metrics()[window]
        self.entries = by_name([flow.name for flow in run.flows] if each_flow else run.entries)
        """The indices of the flows of each entry."""

    def subjects(self) -> list[Subject]:
        """Return the run, its flow entries and its bottleneck links."""
        bottlenecks = [
            name
            for name, index in metrics.link_indices(self.run).items()
            if self.run.queues[index].bottleneck
        ]
        return subjects(self.entries, bottlenecks)

    def names(self, flow: str | None = None) -> set[str]:
        """Return the names of the metrics of an entry's flows, or of all flows."""
        indices = range(len(self._values.flows)) if flow is None else self.entries.get(flow, [])
        return {name for index in indices for name in self._values.flows[index]}

    def value(self, subject: Subject, metric: str) -> float | None:
        """Return the value of a metric of the subject's scope; None where there is none."""
        return mean_of_known(self.of_flows(subject, metric))

    def of_flows(self, subject: Subject, metric: str) -> list[Number | None]:
        """Return the values that :meth:`value` is the mean of, None where there is none."""
        if subject.flow is None:
            return [self._values.of(None, subject.link).get(metric)]
        indices = self.entries.get(subject.flow, [])
        return [self._values.flows[index].get(metric) for index in indices]

    def total(self, subject: Subject, metric: str) -> float:
        """Return the sum of the values that there are."""
        return math.fsum(value for value in self.of_flows(subject, metric) if value is not None)

    def parts(
        self, subject: Subject, metric: Metric, span: metrics.Span, number: int
    ) -> tuple[float, ...]:
        """Return the values in equal parts of a span, NaN where a part has none.

        A part is at least as long as the time between the samples that every run has. None are
        returned for fewer than LEAST_PARTS, and of metrics that are no averages.
        """
        if not number or not metric.averages or metric.scope == "link":
            return ()
        number = min(number, int(span.length_s / self._period_s))
        if number < LEAST_PARTS:
            return ()
        indices = [None] if subject.flow is None else self.entries[subject.flow]
        series = [metrics.in_parts(self.run, metric, index, span, number) for index in indices]
        means = [mean_of_known(of_part) for of_part in zip(*series, strict=True)]
        return tuple(math.nan if mean is None else mean for mean in means)

    @cached_property
    def _period_s(self) -> float:
        """The time between samples: a shorter part would have no sample, or one too many."""
        regular = RegularRun.of(self.run)
        for index, flow in enumerate(self.run.flows):
            if flow.transport == "tcp":
                times_ns = regular.tcp_columns(index, SENDER)["time_ns"]
                if len(times_ns) > 1:
                    return max(float(np.median(np.diff(times_ns))) / 1e9, _LEAST_PERIOD_S)
        return _LEAST_PERIOD_S


def by_name(names: Iterable[str]) -> dict[str, list[int]]:
    """Return the indices of each name."""
    indices: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        indices.setdefault(name, []).append(index)
    return indices


def subjects(entries: Iterable[str], bottlenecks: Iterable[str]) -> list[Subject]:
    """Return the run, its flow entries and its bottleneck links."""
    flows, links = (
        [Subject(flow=name) for name in entries],
        [Subject(link=name) for name in bottlenecks],
    )
    return [Subject(), *flows, *links]


def require_window(run_id: str, window: str, there: Iterable[str]) -> None:
    """Check that a run has a window.

    Raises:
        UsageError: it has not.
    """
    if window not in there:
        valid = [name for name in there if name != WHOLE]
        listed = f"its windows are {', '.join(valid)}" if valid else "it has none"
        raise UsageError(f"run {run_id} has no window {window}; {listed}")


def mean_of_known(values: Iterable[Number | None]) -> float | None:
    """Return the mean of the values that are there; None and NaN are not."""
    known = [float(value) for value in values if value is not None and not math.isnan(value)]
    return math.fsum(known) / len(known) if known else None
