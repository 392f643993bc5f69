"""A run with its metrics as data, whole and as the list of runs has it.

:mod:`results.documents.run_document` has their JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.recording.model import Check, FlowRecord, QueueRecord
from results.metrics import channel
from results.records.model import WHOLE, Number, RunEvent, RunRow, Values, Variant
from results.runs.captures import CapturedHost, HostClock
from results.runs.programs import FlowFile, FlowNumber, ProgramEnd
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from results.store.parts.traces import TraceHead


@dataclass(frozen=True)
class FlowResult:
    """A flow with its metrics; ``entry`` names the scenario's flow entry."""

    record: FlowRecord
    entry: str
    metrics: Values

    @property
    def name(self) -> str:
        """The name of the flow."""
        return self.record.name


@dataclass(frozen=True)
class LinkRates:
    """The rate of a link, in bit/s: the first, the smallest, the largest and the last one.

    ``changes`` is None in a plan where a trace or a model changes the rate.
    """

    first_bps: float | None
    min_bps: float | None
    max_bps: float | None
    end_bps: float | None
    changes: int | None


@dataclass(frozen=True)
class LinkResult:
    """A channel of a link, by its queue, with its metrics."""

    queue: QueueRecord
    metrics: Values

    @property
    def name(self) -> str:
        """The name of the channel, such as ``bottleneck:forward``."""
        return channel(self.queue)

    @property
    def rates(self) -> LinkRates:
        """The rates that the link had."""
        steps: list[int | None] = [rate_bps for _time, rate_bps in self.queue.rate_steps]
        rates_bps = steps or [self.queue.rate_bps]
        known = [rate_bps for rate_bps in rates_bps if rate_bps is not None]
        return LinkRates(
            self.queue.rate_bps,
            min(known, default=None),
            max(known, default=None),
            rates_bps[-1],
            len(rates_bps) - 1,
        )


@dataclass(frozen=True)
class WindowResult:
    """The metrics of a window, and the flows with theirs."""

    metrics: Values
    flows: Sequence[FlowResult]


@dataclass(frozen=True)
class ListedFlow:
    """A flow in the list of runs."""

    name: str
    entry: str
    congestion_control: str | None


@dataclass(frozen=True)
class ListedRun:
    """A run in the list: its own metrics, those of its windows by name, and its flows' names.

    Conditions and orders of the list read it as :class:`results.query.run_fields.QueriedRun`.
    """

    row: RunRow
    metrics: Values
    windows: Mapping[str, Values]
    flows: Sequence[ListedFlow]
    remarks: Remarks

    @property
    def variant(self) -> Variant:
        """The values of the matrix."""
        return self.row.variant

    def field(self, name: str) -> Any:
        """Return a field of the row."""
        return getattr(self.row, name)

    def metric(self, name: str, window: str = WHOLE) -> Number | None:
        """Return a metric of the run, or of one of its windows."""
        return (self.windows[window] if window else self.metrics)[name]

    @property
    def congestion_controls(self) -> Sequence[str | None]:
        """The congestion control of each flow; None of UDP."""
        return [flow.congestion_control for flow in self.flows]

    @property
    def flow_names(self) -> Sequence[str]:
        """The names of the flows and of their entries."""
        return [name for flow in self.flows for name in (flow.name, flow.entry)]

    @property
    def tags(self) -> Sequence[str]:
        """The tags of the run."""
        return self.remarks.tags


@dataclass(frozen=True)
class TraceResult:
    """A trace of a run, its captures at hosts, what is missing of it, and the clocks of its times.

    ``missing`` has a text for each thing. Without ``clocks`` all times are by one clock.
    """

    head: TraceHead
    hosts: Sequence[CapturedHost]
    missing: Sequence[str]
    clocks: Sequence[HostClock] = ()


@dataclass(frozen=True)
class RunResult:
    """A run with all that is computed from its samples; ``windows`` are by name.

    A run that has not ended well has neither flows nor links nor judgements.
    """

    row: RunRow
    metrics: Values
    windows: Mapping[str, WindowResult]
    flows: Sequence[FlowResult]
    links: Sequence[LinkResult]
    events: Sequence[RunEvent]
    judgements: Sequence[Judgement]
    remarks: Remarks
    traces: Sequence[TraceResult] = ()
    programs: Sequence[ProgramEnd] = ()
    extracted: Sequence[FlowNumber] = ()
    kept: Sequence[FlowFile] = ()

    @property
    def checks(self) -> Sequence[Check]:
        """The fidelity checks of the latest judgement."""
        return self.judgements[-1].checks if self.judgements else []

    def listed(self) -> ListedRun:
        """Return the run as the list of runs has it."""
        flows = [
            ListedFlow(flow.name, flow.entry, flow.record.congestion_control) for flow in self.flows
        ]
        windows = {name: window.metrics for name, window in self.windows.items()}
        return ListedRun(self.row, self.metrics, windows, flows, self.remarks)
