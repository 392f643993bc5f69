"""Traces of runs: what one is of, the zoom that made it, and what happened by it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import ResponseModel, Versioned


class CapturedHost(ResponseModel):
    """The capture of a host of a real machine; it counts frames of up to 20 ms around its time."""

    host: str
    from_ns: int
    to_ns: int
    frames: int = Field(description="frames that came to the capture")
    lost_frames: int = Field(description="those of them for which its buffer had no room")


class Trace(ResponseModel):
    """A stored trace without its rows. Times are nanoseconds since the start of traffic."""

    number: int = Field(description="number within the run, from 1")
    traced_utc: str = Field(description="ISO 8601")
    from_ns: int
    to_ns: int
    kinds: list[str] = Field(description="what was traced")
    limit_bytes: int = Field(description="size that the trace could have in the guest's memory")
    snap_bytes: int = Field(description="bytes that are kept of each frame")
    flows: list[str] = Field(description="those that were selected; none: all")
    links: list[str] = Field(description="those that were selected; none: all")
    rows: dict[str, int] = Field(description="number of rows of each table")
    stored_bytes: int = Field(description="size in the results database")
    full_ns: int | None = Field(
        description="when the limit was reached, after which nothing is kept; null: it was not"
    )
    captured_hosts: list[CapturedHost] = Field(
        description="what captures at hosts have lost; empty for a guest, which loses nothing"
    )


class Zoom(Versioned):
    """A run that was made again with a trace, as `orchestrator zoom --json` prints it."""

    run: str
    bit_identical: bool = Field(description="whether the digests are equal")
    digest: str
    stored_digest: str
    trace: Trace | None = Field(description="null: the digests differ, so nothing is kept")
    was_stored: bool = Field(
        description="whether the run had an equal trace already, and was not made again"
    )


class Moment(ResponseModel):
    """Something that happened to a flow."""

    time_ns: int = Field(description="since the start of traffic")
    until_ns: int | None = Field(description="null: it is a moment, not a time span")
    kind: str = Field(description="the cause's name, such as `full queue`")
    text: str = Field(description="a sentence about the flow, without its time")
    numbers: dict[str, Any] = Field(description="values in the text; names end in their units")
    evidence: dict[str, int] = Field(description="number of rows that show it, by table")


class CostlyEvent(ResponseModel):
    """One or more moments together, and by how much they set a flow back."""

    time_ns: int
    until_ns: int = Field(
        description="when the flow was furthest behind its level; of a chain when it was over"
    )
    is_back: bool = Field(description="whether it was back at its level before the next event")
    cost_bytes: int
    level_bps: float = Field(
        description="the rate of acknowledged data in the RTT before; of a handshake the mean after"
    )
    moments: list[int] = Field(description="indices of the flow's moments")
    events: int = Field(description="how many events it is: 1, or those of a chain, with their sum")


class ExplainedFlow(ResponseModel):
    """What happened to a flow, in the order of time. Null: not of a part of a run."""

    flow: str
    counts: dict[str, int] = Field(description="number of moments by kind")
    moments: list[Moment]
    limited_by: dict[str, float] | None = Field(
        description="shares of the flow's time by what limited its sender; null for UDP, too"
    )
    limits_shown_by: Literal["samples", "acks"] | None
    paced_share: float | None = Field(
        description="share of the congestion window's time in which pacing held the sender back; "
        "null: not told of a part of a run, and not known"
    )
    goodput_bps: float | None = Field(description="mean over the window; null: not known")
    cwnd_mean_segments: float | None = Field(
        description="mean over the window, by the states after ACKs; null: not known, or UDP"
    )
    costliest: list[CostlyEvent] | None


class FlowOfRun(ResponseModel):
    """A flow of a run."""

    run: str
    flow: str


class KindSummary(ResponseModel):
    """How often something of a kind happened to a flow. A mean is null where no moment has it."""

    count: int
    mean_duration_s: float | None = Field(description="of timeouts: the RTO that ran out")
    mean_cwnd_ratio: float | None = Field(description="cwnd after a moment / cwnd before it")
    mean_packets: float | None = Field(description="packets that were lost or marked in one")


class ComparedFlows(ResponseModel):
    """What one of two flows suffered that the other did not."""

    first: FlowOfRun
    second: FlowOfRun
    counts: dict[str, list[int]] = Field(description="numbers of moments of both, by kind")
    only_first: list[Moment]
    only_second: list[Moment]
    kinds: dict[str, list[KindSummary]] = Field(description="of both, by kind")


class Explanation(Versioned):
    """What happened to the flows of a run, as `orchestrator explain --json` prints it."""

    run: str
    trace: int = Field(description="number of the trace that shows it")
    from_ns: int
    to_ns: int
    flows: list[ExplainedFlow]
    against: Explanation | None = Field(description="the other run's, with `--against`")
    comparisons: list[ComparedFlows]
