"""The registry of metrics, a run's network, and a run in progress."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Versioned
from results.contract.live import State
from results.records.model import Status
from web.contract.series import Queue


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


class Progress(Versioned):
    """The state of a run."""

    run: str
    status: Status
    state: State | None = Field(description="null: nothing is known, or the run has ended")
