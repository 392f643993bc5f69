"""The comparison of runs, the registry of metrics, a run's network, and a run in progress."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from results.contract.base import Number, ResponseModel, Variant, Verdict, Versioned
from results.contract.experiments import Contrast, Estimate, LeftOut
from results.records.model import Status
from web.contract.series import Queue


class ComparedRun(ResponseModel):
    """One of the runs."""

    id: str
    experiment: str
    scenario: str
    variant: Variant
    repetition: int
    seed: int
    status: Status
    digest: str | None
    digest_version: int
    link_model: int
    verdict: Verdict | None


class ComparedMetric(ResponseModel):
    """A metric of the runs, in their order; null where a run has none."""

    name: str
    unit: str
    values: list[Number]
    differences: list[Number] = Field(description="from the first run")
    ratios: list[Number] = Field(description="to the first run")


class ComparedSubject(ResponseModel):
    """A flow or a link of the runs."""

    name: str
    metrics: list[ComparedMetric]


class Differing(ResponseModel):
    """Something that is not the same in all runs."""

    path: str
    values: list[Any] = Field(description="of the runs, in their order")


class Differs(ResponseModel):
    """What is not the same in all runs."""

    run: list[Differing]
    scenario: list[Differing]
    provenance: list[Differing]
    checks: list[Differing]


class ComparedVariant(ResponseModel):
    """A variant of the comparison over repetitions."""

    name: str = Field(description="in what it differs from the others")
    experiment: str = Field(description="`NAME@HASH`")
    variant: Variant
    runs: list[str] = Field(description="ids of the runs that count")
    left_out: LeftOut


class VariantValues(ResponseModel):
    """A metric of the variants, in their order; of the run where flow and link are null."""

    flow: str | None
    link: str | None
    metric: str
    unit: str
    means: list[Estimate | None]
    differences: list[Contrast | None] = Field(description="to the first variant")


class ComparedVariants(ResponseModel):
    """Variants over their repetitions."""

    variants: list[ComparedVariant]
    values: list[VariantValues]


class Comparison(Versioned):
    """A comparison, as `orchestrator compare --json` prints it."""

    runs: list[ComparedRun]
    metrics: list[ComparedMetric]
    windows: dict[str, list[ComparedMetric]] = Field(description="by the name of the window")
    flows: list[ComparedSubject]
    links: list[ComparedSubject]
    differs: Differs
    variants: ComparedVariants | None = Field(
        description="null: there is one variant, or none has two runs that count"
    )


class Metric(ResponseModel):
    """A metric at one scope."""

    name: str
    scope: Literal["run", "flow", "link"]
    unit: str
    title: str
    definition: str


class RegisteredMetrics(Versioned):
    """All metrics, in the order of their registration."""

    metrics: list[Metric]


class Side(ResponseModel):
    """One direction of a link, as planned."""

    rate_bps: Number = Field(description="bit/s; null: not limited")
    delay_s: Number
    loss: Number = Field(description="mean share of packets")
    bottleneck: bool
    queue_kind: str | None
    limit_packets: int | None
    limit_bytes: int | None


class NetworkLink(ResponseModel):
    """A link between two nodes."""

    name: str
    a: str
    b: str
    forward: Side = Field(description="from `a` to `b`")
    reverse: Side


class NetworkFlow(ResponseModel):
    """Where a flow goes."""

    name: str
    source: str
    sink: str
    path: list[str] = Field(description="channels that its data cross")
    congestion_fields: list[tuple[str, str]] = Field(
        description="name and unit of each `congestion_N` of the samples"
    )


class Network(Versioned):
    """The network of a run. Flows and qdiscs are known of a run that has ended well."""

    run: str
    links: list[NetworkLink]
    flows: list[NetworkFlow]
    queues: list[Queue]


class RunningFlow(ResponseModel):
    """Curves of a flow so far."""

    name: str
    base_rtt_s: Number
    cwnd_segments: list[Number]
    rtt_ms: list[Number]
    goodput_bps: list[Number]


class RunningQueue(ResponseModel):
    """The backlog of a bottleneck so far."""

    name: str
    backlog_packets: list[Number]


class State(ResponseModel):
    """What is known of a run in progress."""

    model_config = ConfigDict(extra="allow")

    phase: str = Field(description="what the test bed does")
    simulated_s: float
    duration_s: float
    wall_s: float
    speed: Number = Field(description="simulated seconds per second of wall time")
    left_s: Number = Field(description="wall time until its end")
    problem: str = Field(description="why there are no curves; empty: nothing")
    time_s: list[float] = Field(description="ends of the bins of all curves")
    flows: list[RunningFlow]
    queues: list[RunningQueue]


class Progress(Versioned):
    """The state of a run."""

    run: str
    status: Status
    state: State | None = Field(description="null: nothing is known, or the run has ended")
