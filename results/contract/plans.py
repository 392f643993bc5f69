"""The plan of a scenario: its runs with what was decided of each, and what they would cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Variant, Versioned, WithValues
from results.contract.experiments import Axis


class EstimateOrigin(ResponseModel):
    """Where an estimate of wall time comes from."""

    source: Literal["same", "scenario", "machine", "constants"] = Field(
        description="`same`: runs that differ only in the seed; `scenario`: runs of a scenario of "
        "this name; `machine`: other runs; `constants`: there is no earlier run"
    )
    runs: int = Field(description="number of runs of that source")


class PlannedFlow(ResponseModel):
    """A flow of a planned run."""

    name: str
    group: str
    source: str = Field(description="host that sends")
    sink: str = Field(description="host that receives")
    congestion: str | None
    parameters: dict[str, int] = Field(
        description="of the congestion control's module and of the sender's namespace"
    )
    module: str | None = Field(description="the user's folder of it")
    traffic: str = Field(description="kind of traffic, such as `bulk`")
    transport: Literal["tcp", "udp", "icmp"]
    rate_bps: int | None = Field(description="of traffic with a constant rate")
    engine: str = Field(description="program that sends")
    start_s: float = Field(description="seconds since the start of traffic")
    stop_s: float | None = Field(description="null: to the end")
    bytes: int | None = Field(description="null: no number was given")
    propagation_rtt_s: Number = Field(description="null: over a live path")
    base_rtt_s: Number = Field(description="null: over a live path")
    segment_rtt_s: Number = Field(description="null: over a live path")
    path: list[str] = Field(description="channels that its data cross")
    sprayed: list[str] = Field(
        description="further channels that its data cross, where packets are sprayed over equal "
        "paths and so overtake each other"
    )


class PlannedEvent(WithValues):
    """An event of a planned run: its time, and what the scenario asks for."""

    time_s: float = Field(description="seconds since the start of traffic")


class PlannedBottleneck(ResponseModel):
    """A bottleneck; BDP (at the largest propagation RTT) and queue are at the initial rate."""

    name: str
    rate_bps: Number
    rate_min_bps: Number
    rate_max_bps: Number
    rate_end_bps: Number
    rate_changes: int | None = Field(description="null: a trace or a model changes the rate")
    delay_s: float
    loss: float = Field(description="mean share of packets")
    bdp_bytes: int | None
    queue_kind: str | None
    queue_packets: Number
    queue_bytes: int | None
    queue_ms: Number
    queue_whole_packets: int | None = Field(
        description="full-size packets that the queue holds; null: it has no limit"
    )


class PlannedLosses(ResponseModel):
    """Packets that a channel loses by their numbers."""

    name: str
    packets: str = Field(description="such as `3, 5-6`")
    count: Literal["data", "all"] = Field(description="which packets are counted")
    flow: str | None = Field(description="null: those of all flows")


class PlannedPolicer(ResponseModel):
    """The policer of a channel."""

    name: str
    rate_bps: int
    burst_bytes: int


class PlannedCapture(ResponseModel):
    """What is traced of a run, and how much memory that may take."""

    from_ns: int
    to_ns: int
    trace: list[str]
    flows: list[str] = Field(description="empty: all flows")
    links: list[str] = Field(description="empty: all links")
    snap_bytes: int
    limit_bytes: int


class PlannedRun(ResponseModel):
    """A planned run."""

    variant: Variant
    repetition: int
    seed: int
    duration_s: float
    warmup_s: float
    estimated_wall_s: float
    estimated_from: EstimateOrigin
    estimated_disk_bytes: int
    flows: list[PlannedFlow]
    events: list[PlannedEvent]
    bottlenecks: list[PlannedBottleneck]
    chosen_losses: list[PlannedLosses]
    policers: list[PlannedPolicer]
    capture: PlannedCapture | None = Field(description="null: nothing is traced")


class RepetitionRule(ResponseModel):
    """Which mean must be known, how well, and the least and the most number of repetitions."""

    metric: str
    flow: str | None = Field(description="flow entry; null: a metric of the run")
    window: str | None = Field(description="null: the whole run after the warm-up")
    interval: float = Field(
        description="half the width of the 95% interval, as a share of the mean"
    )
    least: int
    most: int


class MatrixCounts(ResponseModel):
    """How the variants of a matrix came about."""

    combinations: int
    excluded: int
    included: int


class PlanWarning(ResponseModel):
    """A value that is valid but probably a mistake."""

    where: str
    message: str


class Plan(Versioned):
    """A plan, as `orchestrator plan --json` prints it."""

    experiment: str
    scenario: str
    repetition_rule: RepetitionRule | None
    matrix: MatrixCounts | None
    axes: list[Axis]
    duration_s: float = Field(description="simulated time of all runs")
    estimated_wall_s: float = Field(description="of the guest, with one job")
    estimated_disk_bytes: int
    runs: list[PlannedRun]
    warnings: list[PlanWarning]
