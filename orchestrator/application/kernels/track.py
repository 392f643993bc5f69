"""Follows what a scenario measures over several kernels, and tells between which it changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.application import experiments
from orchestrator.application.events import Listener, notices
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.run import ScenarioRequest, run_scenarios
from orchestrator.application.stored.plot import PlotRequest, figure_of, plot
from orchestrator.errors import UsageError
from orchestrator.scenario import load
from orchestrator.suggestions import suggest
from orchestrator.units import listed
from results.contract import kernels as contract
from results.contract.base import SCHEMA
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.matrix.axes import shown
from results.metrics import METRICS, any_scope, find
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.application.outcomes import SuiteResult
    from orchestrator.application.stored.plot import Drawing
    from results.experiment.model import Comparison, MetricSummary, Summary
    from results.metrics.base import Scope
    from results.records.model import Variant

AXIS = "kernel"


@dataclass(frozen=True)
class TrackRequest:
    """A scenario, the kernels in their order, and the metric of the run or of a flow entry.

    ``form`` is that of the figure: svg, pdf or png.
    """

    file: Path
    kernels: tuple[str, ...]
    metric: str
    flow: str | None = None
    overrides: tuple[str, ...] = ()
    reduced: bool = False
    form: str = "svg"


@dataclass(frozen=True)
class TrackedKernel:
    """What was measured on a kernel: ``change`` is the difference to the kernel before it.

    ``variant`` has the values of the scenario's other axes.
    """

    kernel: str
    variant: Variant
    value: MetricSummary
    change: Comparison | None


@dataclass(frozen=True)
class Track:
    """The kernels by variants, in their order, and the figure.

    ``ended`` is what the runs came to; its status is that of ``run``.
    """

    metric: str
    flow: str | None
    experiment: str
    kernels: Sequence[TrackedKernel]
    drawing: Drawing
    ended: SuiteResult

    @property
    def changes(self) -> list[TrackedKernel]:
        """The kernels on which the metric is not what it was on the one before."""
        return [each for each in self.kernels if each.change is not None and each.change.sign]

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return any_scope(self.metric).unit

    def document(self) -> dict[str, Any]:
        """Return the JSON contract of ``track``."""
        return contract.KernelTrack.model_construct(
            schema_=SCHEMA,
            experiment=self.experiment,
            metric=self.metric,
            flow=self.flow,
            unit=self.unit,
            kernels=[_kernel(each) for each in self.kernels],
        ).document()


def _kernel(each: TrackedKernel) -> contract.TrackedKernel:
    return contract.TrackedKernel.model_construct(
        kernel=each.kernel,
        variant=dict(each.variant),
        n=each.value.n,
        mean=each.value.mean,
        low=each.value.low,
        high=each.value.high,
        change=None if each.change is None else _change(each.change),
    )


def _change(change: Comparison) -> contract.KernelChange:
    return contract.KernelChange.model_construct(
        mean=change.mean,
        low=change.low_family,
        high=change.high_family,
        method=change.method,
        known=bool(change.sign),
    )


def track(request: TrackRequest, settings: RunSettings, listener: Listener) -> Track:
    """Run the scenario on each kernel, where it is not stored yet, and compare neighbours.

    The intervals of all changes hold together with 95%.

    Raises:
        UsageError: there are less than two kernels, or there is no such metric or flow.
        MachineError: a kernel is not there, or cannot be built.
    """
    if len(request.kernels) < 2:
        raise UsageError("track: name two kernels or more, or tags of which there are several")
    _require_metric(request)
    axis = f"matrix.{AXIS}={json.dumps(list(request.kernels))}"
    overrides = (*request.overrides, axis)
    ended = run_scenarios(
        ScenarioRequest((request.file,), overrides, request.reduced, resume=True),
        settings,
        listener,
    )
    with Store.open_read_only(settings.db) as store:
        found = experiments.find(
            store, str(request.file), notices(listener), overrides, request.reduced
        )
        values = [shown(value) for one in found.axes() if one.path == AXIS for value in one.values]
        neighbours = [f"{one},{other}" for one, other in pairwise(values)]
        selection = ValueSelection((request.metric,))
        summary = summarise(store, found, selection, (AXIS,), compare=neighbours)
        kernels = list(_kernels(request, summary, values))
        if not kernels:
            of = "the run" if request.flow is None else f"flow {request.flow}"
            raise UsageError(f"track: {of} has no {request.metric}")
    keys = {"metric": request.metric, "by": AXIS, "flow": request.flow}
    figure = figure_of("metric", request.form, {key: one for key, one in keys.items() if one})
    drawing = plot(PlotRequest(figure, found.label), settings.db, listener)
    return Track(request.metric, request.flow, found.label, kernels, drawing, ended)


def _require_metric(request: TrackRequest) -> None:
    """Raise UsageError unless the scenario has the flow entry, and it or the run the metric."""
    flows = [flow.name for flow in load(request.file, request.overrides).scenario.flows]
    if request.flow is not None and request.flow not in flows:
        raise UsageError(f"track: there is no flow entry {request.flow}; defined: {listed(flows)}")
    scope: Scope = "run" if request.flow is None else "flow"
    if find(request.metric, scope) is None:
        known = [name for name, of in METRICS if of == scope]
        near = suggest(request.metric, known)
        raise UsageError(
            f"track: a {scope} has no metric {request.metric}{near}; see docs/metrics.md"
        )


def _kernels(
    request: TrackRequest, summary: Summary, order: Sequence[str]
) -> Sequence[TrackedKernel]:
    """Return the kernels of each variant of the other axes, in their order."""
    found = []
    for row in summary.rows:
        if row.flow != request.flow or row.link is not None or not row.has(request.metric):
            continue
        kernel = shown(row.variant[AXIS])
        others = {path: value for path, value in row.variant.items() if path != AXIS}
        change = next(
            (
                difference
                for difference in summary.differences
                if (difference.b, difference.flow, dict(difference.variant))
                == (kernel, request.flow, others)
                and order.index(difference.a) == order.index(kernel) - 1
            ),
            None,
        )
        found.append(TrackedKernel(kernel, others, row.metrics[request.metric], change))
    return sorted(found, key=lambda each: (str(each.variant), order.index(each.kernel)))
