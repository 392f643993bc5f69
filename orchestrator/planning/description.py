"""Describes a plan for people and other programs.

The fields have the names of the JSON of ``plan``, which ``plan_document`` makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from orchestrator.errors import Fault
from orchestrator.kinds.traffic import Transport
from orchestrator.network import Hop
from orchestrator.planning import chosen_losses
from orchestrator.planning.chosen_losses import ChosenLossDescription
from orchestrator.planning.costs.estimate import bottleneck_hops
from orchestrator.planning.costs.learning import Estimate, Estimator
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.reports.trace_records import WANTED
from orchestrator.recording.trace import Capture
from orchestrator.repetitions import RepetitionRule
from orchestrator.scenario.variants.matrix import VariantCounts
from results.matrix.axes import Axis, axes
from results.records.model import RunEvent


@dataclass(frozen=True)
class FlowDescription:
    """A planned flow; see ``PlannedFlow``.

    ``parameters`` has those of the module and those of the sender's namespace. ``module`` is the
    user's folder of it. ``rate_bps`` is that of traffic with a constant rate. RTTs over a live
    path are None. ``path`` is the first one where packets are sprayed over equal paths.
    """

    name: str
    group: str
    source: str
    sink: str
    congestion: str | None
    parameters: Mapping[str, int]
    module: str | None
    traffic: str
    transport: Transport
    rate_bps: int | None
    engine: str
    start_s: float
    stop_s: float | None
    bytes: int | None
    propagation_rtt_s: float | None
    base_rtt_s: float | None
    segment_rtt_s: float | None
    path: Sequence[str]
    sprayed: Sequence[str]


@dataclass(frozen=True)
class BottleneckDescription:
    """A bottleneck's rate, delay, loss, BDP (at the largest propagation RTT) and queue.

    BDP and queue are at the initial rate. ``rate_changes`` is None when a trace or a model changes
    the rate. A trace whose opportunities are evenly spaced has a constant rate.
    """

    name: str
    rate_bps: float | None
    rate_min_bps: float | None
    rate_max_bps: float | None
    rate_end_bps: float | None
    rate_changes: int | None
    delay_s: float
    loss: float
    bdp_bytes: int | None = None
    queue_kind: str | None = None
    queue_packets: float | None = None
    queue_bytes: int | None = None
    queue_ms: float | None = None
    queue_whole_packets: int | None = None


@dataclass(frozen=True)
class PolicerDescription:
    """The policer of the channel ``name``."""

    name: str
    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True)
class CaptureDescription:
    """What is traced of a run, and how much memory it may take; see ``Capture``."""

    from_ns: int
    to_ns: int
    trace: Sequence[str]
    flows: Sequence[str]
    links: Sequence[str]
    snap_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class RunDescription:
    """A planned run; ``estimated_from`` tells where ``estimated_wall_s`` comes from.

    ``estimated_disk_bytes`` are without the trace.
    """

    variant: Mapping[str, object]
    repetition: int
    seed: int
    duration_s: float
    warmup_s: float
    estimated_wall_s: float
    estimated_from: Estimate
    estimated_disk_bytes: int
    flows: Sequence[FlowDescription]
    events: Sequence[RunEvent]
    bottlenecks: Sequence[BottleneckDescription]
    chosen_losses: Sequence[ChosenLossDescription]
    policers: Sequence[PolicerDescription]
    capture: CaptureDescription | None


@dataclass(frozen=True)
class PlanWarning:
    """A value that is valid but probably a mistake: where it stands, and what is wrong with it."""

    where: str
    message: str


@dataclass(frozen=True)
class PlanDescription:
    """A plan with estimates of wall time and disk space.

    The wall time is that of the guest. In real time, the runs take ``duration_s`` plus the time to
    build and probe their networks.
    """

    experiment: str
    scenario: str
    repetition_rule: RepetitionRule | None
    matrix: VariantCounts | None
    axes: Sequence[Axis]
    duration_s: float
    estimated_wall_s: float
    estimated_disk_bytes: int
    runs: Sequence[RunDescription] = field(repr=False)
    warnings: Sequence[PlanWarning]


@dataclass(frozen=True)
class Plan:
    """The runs of a scenario, variant by variant and repetition by repetition.

    A joined plan has those of several scenarios. ``experiment`` is None if each run's experiment is
    that of its scenario's name. ``counts`` are those of the matrix. ``warnings`` name values that
    are valid but probably mistakes.
    """

    experiment: str | None
    runs: list[RunSpec]
    warnings: list[Fault] = field(default_factory=list)
    counts: VariantCounts | None = None

    @classmethod
    def joined(cls, plans: Iterable[Self]) -> Self:
        """Return one plan of the runs of several, whose experiments have their scenarios' names."""
        every = list(plans)
        return cls(
            None,
            [run for plan in every for run in plan.runs],
            [warning for plan in every for warning in plan.warnings],
        )

    def describe(self, estimator: Estimator | None = None) -> PlanDescription:
        """Return the plan with estimates of wall time and disk space.

        The wall time is estimated by the constants alone without an estimator.
        """
        estimates = [(estimator or Estimator())(run) for run in self.runs]
        first = self.runs[0]
        return PlanDescription(
            experiment=self.experiment or first.scenario_name,
            scenario=first.scenario_name,
            repetition_rule=first.repetition_rule,
            matrix=self.counts,
            axes=axes([run.variant for run in self.runs], [run.variant_sets for run in self.runs]),
            duration_s=sum(run.duration_s for run in self.runs),
            estimated_wall_s=round(sum(estimate.wall_s for estimate in estimates), 1),
            estimated_disk_bytes=sum(run.estimated_disk_bytes for run in self.runs),
            runs=[
                _describe_run(run, estimate)
                for run, estimate in zip(self.runs, estimates, strict=True)
            ],
            warnings=[PlanWarning(fault.where, fault.message) for fault in self.warnings],
        )


def _describe_run(run: RunSpec, estimate: Estimate) -> RunDescription:
    return RunDescription(
        variant=run.variant,
        repetition=run.repetition,
        seed=run.seed,
        duration_s=run.duration_s,
        warmup_s=run.warmup_s,
        estimated_wall_s=round(estimate.wall_s, 1),
        estimated_from=estimate,
        estimated_disk_bytes=run.estimated_disk_bytes,
        flows=[_describe_flow(flow, run.network.live) for flow in run.flows],
        events=[RunEvent(event.time_ns / 1e9, None, event.requested) for event in run.events],
        bottlenecks=[describe_bottleneck(hop, run.flows) for hop in bottleneck_hops(run.network)],
        chosen_losses=chosen_losses.described(run.network),
        policers=[
            PolicerDescription(hop.name, policer.rate_bps, policer.burst_bytes)
            for link in run.network.links
            for hop in link.hops
            if (policer := hop.channel.policer) is not None
        ],
        capture=None if run.capture is None else _describe_capture(run.capture),
    )


def _describe_capture(capture: Capture) -> CaptureDescription:
    return CaptureDescription(
        capture.from_ns,
        capture.to_ns,
        [kind for kind in WANTED if kind in capture.kinds],
        capture.flows,
        capture.links,
        capture.snap_bytes,
        capture.limit_bytes,
    )


def _describe_flow(flow: PlannedFlow, live: bool) -> FlowDescription:
    return FlowDescription(
        name=flow.name,
        group=flow.group,
        source=flow.source,
        sink=flow.sink,
        congestion=flow.congestion,
        parameters={**flow.parameters, **flow.settings},
        module=None if flow.module is None else str(flow.module.path),
        traffic=flow.traffic,
        transport=flow.transport,
        rate_bps=flow.traffic_parameters.get("rate_bps"),
        engine=flow.engine,
        start_s=flow.start_s,
        stop_s=flow.stop_s,
        bytes=flow.bytes,
        propagation_rtt_s=None if live else flow.propagation_rtt_s,
        base_rtt_s=None if live else flow.base_rtt_s,
        segment_rtt_s=None if live else flow.segment_rtt_s,
        path=list(flow.path),
        sprayed=list(flow.sprayed),
    )


def describe_bottleneck(hop: Hop, flows: Sequence[PlannedFlow]) -> BottleneckDescription:
    """Return the description of a bottleneck that these flows may cross."""
    channel = hop.channel
    rate_bps, queue = channel.rate_bps, channel.queue
    rates_bps = [] if rate_bps is None else [rate_bps, *channel.later_rates]
    rtts_s = [
        flow.propagation_rtt_s
        for flow in flows
        if hop.name in flow.crossed or hop.name in flow.ack_crossed
    ]
    description = BottleneckDescription(
        name=hop.name,
        rate_bps=rate_bps,
        rate_min_bps=min(rates_bps, default=None),
        rate_max_bps=max(rates_bps, default=None),
        rate_end_bps=rates_bps[-1] if rates_bps else None,
        rate_changes=None if channel.rate_is_mean else len(channel.later_rates),
        delay_s=channel.delay_s,
        loss=channel.mean_loss,
    )
    if rate_bps and rtts_s:
        description = replace(description, bdp_bytes=int(rate_bps * max(rtts_s) / 8))
    if rate_bps and queue:
        packets = queue.limit_packets or (queue.limit_bytes or 0) / channel.frame_bytes
        size_bytes = queue.limit_bytes or packets * channel.frame_bytes
        description = replace(
            description,
            queue_kind=queue.kind,
            queue_packets=round(packets, 1),
            queue_bytes=int(size_bytes),
            queue_ms=round(8000 * size_bytes / rate_bps, 3),
            queue_whole_packets=channel.queue_whole_packets,
        )
    return description
