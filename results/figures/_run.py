"""Keys of figures of a single run, and the series that they show over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Duration, Path, Time, located
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.suggestions import suggest
from results.figures import _labels
from results.figures._canvas import require_distinct
from results.figures._frame import set_scale
from results.figures._spec import FigureSpec, Names
from results.metrics.base import running
from results.samples.downsample import min_max_indices
from results.samples.received import received_bytes
from results.store.stored import StoredRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

Floats = npt.NDArray[np.float64]

MOST_POINTS = 1500
"""Most points of a series. Of more samples the extremes of equal parts are drawn."""

MOST_EVENTS = 40
"""Most events that are marked. More marks would cover the lines."""


BY_FLOW = "by `flow`, which is --flow of `orchestrator plot`"
"""How a user keeps fewer flows, for messages."""


class RunFigure(FigureSpec):
    """A figure of one run: that of an id, or of an experiment's only variant."""

    source: ClassVar[str] = "RUN"

    explained: ClassVar[str] = ""
    """What a caption says beside the docstring's first paragraph."""

    flow: Names = Field(default_factory=list, description="only these flows or flow entries")
    repetition: int = Field(
        default=0, ge=0, description="which repetition of an experiment's variant"
    )
    from_: Time = Field(default=0.0, alias="from", description="since the start of traffic")
    to: Duration | None = Field(
        default=None, description="since the start of traffic; the end of the run when not given"
    )

    @model_validator(mode="after")
    def _ordered(self) -> RunFigure:
        if self.to is not None and self.from_ >= self.to:
            raise located([(("from",), "must be before `to`")])
        return self

    def caption(self, study: Study) -> str:
        """Return what a report says below the figure: what it shows, and of which run."""
        text = " ".join((type(self).__doc__ or "").split("\n\n")[0].split()) + self.explained
        run = study.drawn
        if run is None:
            return text
        label = _labels.variant_words(run.row.variant)
        which = f"{label}, " if label else ""
        repetition, seed = run.row.repetition, run.row.seed
        return f"{text} Run {run.id}: {which}repetition {repetition}, seed {seed}."

    def named_flows(self) -> Iterator[tuple[Path, str]]:
        """Yield the flows that the figure keeps."""
        yield from ((("flow", index), name) for index, name in enumerate(self.flow))

    def run(self, study: Study) -> StoredRun:
        """Return the run; UsageError when there is none, or the choice leaves several."""
        run = study.run(self.where, self.repetition)
        if self.from_ >= run.duration_s:
            raise UsageError(f"from: run {run.id} has {run.duration_s:g} s of traffic")
        return run

    def flows(self, run: StoredRun) -> list[int]:
        """Return the indices of the flows to draw, each with a colour of its own.

        Raises:
            UsageError: there is no such flow, or there are more than can be told apart.
        """
        chosen = self.all_flows(run)
        names = [run.flows[index].name for index in chosen]
        require_distinct(names, by=BY_FLOW)
        return chosen

    def all_flows(self, run: StoredRun) -> list[int]:
        """Return the indices of the chosen flows, of all without a choice.

        Raises:
            UsageError: there is no such flow.
        """
        valid = [*dict.fromkeys([*run.entries, *(flow.name for flow in run.flows)])]
        for name in self.flow:
            if name not in valid:
                raise UsageError(
                    f"run {run.id} has no flow {name}{suggest(name, valid)}; "
                    f"there are {', '.join(valid[:30])}"
                )
        return [
            index
            for index, flow in enumerate(run.flows)
            if not self.flow or flow.name in self.flow or run.entries[index] in self.flow
        ]

    def span_s(self, run: StoredRun) -> tuple[float, float]:
        """Return the time to draw, in seconds since the start of traffic.

        Raises:
            UsageError: it ends after the run.
        """
        if self.to is None:
            return self.from_, run.duration_s
        if self.to > run.duration_s:
            raise UsageError(
                f"to: the figure ends at {self.to:g} s, after run {run.id}, which ends at "
                f"{run.duration_s:g} s"
            )
        return self.from_, self.to

    def label_time(self, panel: Axes, run: StoredRun) -> None:
        """Label the horizontal axis with the time."""
        panel.set_xlim(*self.span_s(run))
        set_scale(panel.xaxis, "s", 1.0)
        panel.set_xlabel(self.x_label if self.x_label is not None else "Time (s)")


class TimeSeries(NamedTuple):
    """A series over time, in seconds and an SI unit; NaN where it has a gap."""

    time_s: Floats
    values: Floats

    def within(self, span_s: tuple[float, float]) -> TimeSeries:
        """Return the points of a span, few enough to draw."""
        inside = (self.time_s >= span_s[0]) & (self.time_s <= span_s[1])
        time_s, values = self.time_s[inside], self.values[inside]
        chosen = min_max_indices(values, MOST_POINTS)
        return TimeSeries(time_s[chosen], values[chosen])


def sender(run: StoredRun, flow: int, column: str) -> TimeSeries:
    """Return a column of a sender's samples while its flow runs; zero is no value."""
    columns = run.tcp_columns(flow, SENDER)
    if not len(columns["time_ns"]):
        return TimeSeries(np.empty(0), np.empty(0))
    on = running(columns, run.flows[flow])
    values = columns[column][on].astype(np.float64)
    return TimeSeries(columns["time_ns"][on] / 1e9, np.where(values > 0, values, np.nan))


def goodput_bps(run: StoredRun, flow: int, bin_s: float) -> TimeSeries:
    """Return the goodput in bins, each at its middle; between samples bytes come evenly."""
    record = run.flows[flow]
    columns = (
        run.datagram_columns(flow) if record.transport == "udp" else run.tcp_columns(flow, RECEIVER)
    )
    time_s = columns["time_ns"] / 1e9
    if len(time_s) < 2:
        return TimeSeries(np.empty(0), np.empty(0))
    read = received_bytes(record, columns).astype(np.float64)
    edges = np.arange(math.floor(time_s[0] / bin_s), math.ceil(time_s[-1] / bin_s) + 1) * bin_s
    edges = edges[(edges >= time_s[0] - bin_s / 2) & (edges <= time_s[-1] + bin_s / 2)]
    if len(edges) < 2:
        return TimeSeries(np.empty(0), np.empty(0))
    grown = np.diff(np.interp(edges, time_s, read))
    return TimeSeries(edges[:-1] + bin_s / 2, grown * 8 / bin_s)


def grown(counter: TimeSeries, bin_s: float) -> TimeSeries:
    """Return by how much a counter grows in bins, each at its middle.

    Growth between two samples belongs to the time of the later one.
    """
    if len(counter.time_s) < 2:
        return TimeSeries(np.empty(0), np.empty(0))
    steps = np.diff(counter.values)
    first, last = counter.time_s[0], counter.time_s[-1]
    edges = np.arange(math.floor(first / bin_s), math.ceil(last / bin_s) + 1) * bin_s
    # A sample at an edge, to within its rounding, closes the bin before it.
    counted, _edges = np.histogram(counter.time_s[1:] - bin_s * 1e-6, edges, weights=steps)
    return TimeSeries(edges[:-1] + bin_s / 2, counted.astype(np.float64))


def period_s(run: StoredRun, flows: Sequence[int]) -> float:
    """Return the longest period between the samples of a flow's receiver."""
    periods = [0.0]
    for flow in flows:
        udp = run.flows[flow].transport == "udp"
        columns = run.datagram_columns(flow) if udp else run.tcp_columns(flow, RECEIVER)
        if len(columns["time_ns"]) > 1:
            periods.append(float(np.median(np.diff(columns["time_ns"]))) / 1e9)
    return max(periods)


def bin_s(span_s: tuple[float, float], period_s: float) -> float:
    """Return a width of bins: 1, 2 or 5 times a power of ten, at least a period, about 100 bins."""
    least = max((span_s[1] - span_s[0]) / 120, period_s, 1e-6)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * 0.999)


def mark_events(panels: Sequence[Axes], run: StoredRun, span_s: tuple[float, float]) -> int:
    """Mark the events of the run; return their number, 0 if there are none or too many to mark."""
    times = sorted({event.applied_s for event in run.events if event.applied_s is not None})
    shown = [time_s for time_s in times if span_s[0] <= time_s <= span_s[1]]
    if len(shown) > MOST_EVENTS:
        return 0
    for panel in panels:
        for time_s in shown:
            panel.axvline(time_s, color="#808080", linestyle=(0, (1, 2)), linewidth=0.7, zorder=1)
    return len(shown)
