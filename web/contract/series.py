"""Samples of a run over time, thinned or binned."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel

Column = list[Number]


class Named(ResponseModel):
    """Something of a run."""

    name: str


class FieldSummary(ResponseModel):
    """A field over all samples in the range."""

    min: Number
    mean: Number
    max: Number
    last: Number


class Samples(ResponseModel):
    """Fields of one subject over time; with `bin_s`, over bins."""

    samples: int = Field(description="number of samples in the range")
    summary: dict[str, FieldSummary] = Field(description="by field, over all samples in the range")
    time_s: list[float] = Field(
        description="seconds since the start of traffic: of samples, or the middles of bins"
    )
    fields: dict[str, Column] = Field(description="values, or the means of bins")
    bin_s: float | None = Field(default=None, description="width of a bin in seconds")
    low: dict[str, Column] | None = Field(default=None, description="least values of bins")
    high: dict[str, Column] | None = Field(default=None, description="largest values of bins")


class Series(ResponseModel):
    """What each answer with series begins with."""

    run: str
    from_s: Number
    to_s: Number
    points: int

    def document(self) -> dict[str, Any]:
        """Return the JSON object.

        Columns have None already where no value is. To look at each of some 100 000 values again
        would take longer than to read them.
        """
        return self.model_dump(exclude_unset=True, warnings=False)


class FlowSamples(Samples, Named):
    """Samples of a flow."""


class Tcp(Series):
    """Samples of sockets."""

    endpoint: Literal["sender", "receiver"]
    flows: list[FlowSamples]


class Queue(Named):
    """A qdisc of a channel, or its policer."""

    link: str
    direction: Literal["forward", "reverse"]
    role: Literal["queue", "delay", "policer"]
    kind: str = Field(description="kind of the qdisc, such as `bfifo`")
    bottleneck: bool
    rate_bps: Number = Field(description="bit/s; null: none")
    limit_packets: int | None
    limit_bytes: int | None
    delay_s: Number = Field(description="seconds; null: none")
    loss: Number = Field(description="share of packets; null: none, or a list of packets")
    statistics: list[tuple[str, str]] = Field(
        description="name and unit of each `statistic_N` of the samples"
    )
    rate_steps: list[tuple[float, Number]] = Field(
        description="seconds since the start of traffic, and bit/s from then on"
    )


class QueueSamples(Samples, Queue):
    """Samples of a qdisc."""


class Queues(Series):
    """Samples of qdiscs."""

    queues: list[QueueSamples]


class GoodputOfFlow(Named):
    """Goodput of a flow over bins of `bin_s`."""

    source: Literal["receiver", "sender"] = Field(
        description="`sender`: acknowledged bytes stand in for received ones"
    )
    time_s: list[float] = Field(description="middles of the bins in seconds")
    goodput_bps: Column = Field(description="bit/s")
    summary: dict[str, FieldSummary]


class Goodput(Series):
    """Application bytes at the receiver x 8 / time, over bins."""

    bin_s: float = Field(description="width of a bin in seconds")
    flows: list[GoodputOfFlow]


class Datagrams(Series):
    """One-way delay (`one_way_delay_s`) and loss (`loss_ratio`) of UDP flows over bins."""

    bin_s: float = Field(description="width of a bin in seconds")
    flows: list[FlowSamples]


class TransfersOfFlow(Named):
    """The distribution of a flow's completion times."""

    transfers: int = Field(description="number of transfers that begin in the range")
    completed: int = Field(description="number of those that were completed")
    fct_s: list[float] = Field(description="completion times in seconds, ascending")
    share: list[float] = Field(description="share of those completed, up to each time")


class Transfers(ResponseModel):
    """Completion times of the transfers that begin in the range."""

    run: str
    from_s: Number
    to_s: Number
    flows: list[TransfersOfFlow]
