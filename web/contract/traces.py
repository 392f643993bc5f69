"""What stored traces of runs show, and their rows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Versioned
from results.contract.traces import Trace
from web.contract.series import Column

_TIMES = "seconds since the start of traffic"


class Traces(Versioned):
    """The traces of a run, oldest first."""

    run: str
    traces: list[Trace]


class TracedMoment(ResponseModel):
    """Something that happened to a flow, as `orchestrator explain` says it."""

    time_s: float = Field(description=_TIMES)
    until_s: float | None = Field(description="its end; null: it has none")
    flow: str
    kind: str = Field(description="cause, such as `full queue`")
    text: str = Field(description="sentence without the time")
    numbers: dict[str, Any] = Field(description="values in the text, by names with their units")
    evidence: dict[str, int] = Field(description="number of rows that show it, by table")
    trace: int = Field(description="number of the trace that shows it")


class Moments(Versioned):
    """What stored traces say that happened to flows."""

    run: str
    traces: list[int] = Field(description="numbers of the traces that tell it; empty: none does")
    windows: list[tuple[float, float]] = Field(description="parts of the run that they are of")
    command: str | None = Field(
        description="tells of the whole run, and keeps the trace; null: it has none, and cannot be "
        "made again"
    )
    kinds: dict[str, int] = Field(description="number by kind, of the chosen flows and times")
    flows: dict[str, int] = Field(description="number by flow, of the chosen kinds and times")
    first: int
    found: int = Field(description="number of those that fit")
    moments: list[TracedMoment]


class CostlyMoments(ResponseModel):
    """One or more moments together, and by how much they set a flow back."""

    time_s: float = Field(description=_TIMES)
    until_s: float = Field(
        description="when the flow was furthest behind its level; of a chain when it was over"
    )
    is_back: bool = Field(description="whether it was back at its level before the next event")
    cost_bytes: int
    level_bps: float = Field(
        description="the rate of acknowledged data in the RTT before; of a handshake the mean after"
    )
    kinds: list[str] = Field(description="kinds of its moments")
    events: int = Field(description="how many events it is: 1, or those of a chain, with their sum")


class FlowStory(ResponseModel):
    """What limited a flow's sender, and what cost it most."""

    flow: str
    limited_by: dict[str, float] | None = Field(
        description="shares of its time by what limited its sender; null: none was seen, as of UDP"
    )
    limits_shown_by: Literal["samples", "acks"] | None
    paced_share: float | None = Field(
        description="share of the congestion window's time in which pacing held the sender back; "
        "null: not known"
    )
    costliest: list[CostlyMoments] = Field(description="what cost it most, the costliest first")


class Stories(Versioned):
    """What limited flows, and what cost them most, in the whole run."""

    run: str
    trace: int | None = Field(description="number of the trace that tells it; null: none does")
    command: str | None = Field(
        description="makes such a trace, and tells; null: it has none, and cannot be made again"
    )
    flows: list[FlowStory]


class Part(ResponseModel):
    """What each picture of a trace begins with."""

    run: str
    trace: int
    from_s: Number
    to_s: Number

    def document(self) -> dict[str, Any]:
        """Return the JSON object; columns have None already where no value is."""
        return self.model_dump(exclude_unset=True, warnings=False)


class Bytes(ResponseModel):
    """Bytes from `first` until before `end` at moments; many of them are joined."""

    found: int = Field(description="number before they were joined")
    time_s: list[float] = Field(description=_TIMES)
    first: list[float]
    end: list[float]


class TimeSequence(Part):
    """A connection at its sender, as tcptrace draws it. Positions are bytes."""

    flow: str
    connections: int = Field(
        description="of the flow, of which that with most ACKs is shown; 0: the trace has no ACK"
    )
    has_segments: bool = Field(description="false: only what was sent again is known")
    has_sacks: bool
    new: Bytes = Field(description="segments that were sent for the first time")
    again: Bytes = Field(description="segments that had been sent before")
    sacks: Bytes = Field(description="blocks of SACK as they came")
    samples: int = Field(description="number of ACKs and timers in the range")
    time_s: list[float] = Field(description="of the states after them")
    acked: list[float] = Field(description="what is acknowledged")
    edge: list[float] = Field(description="end of the receive window")


class PacketsOfFlow(ResponseModel):
    """Packets of a flow in the queue, at the times of all packets."""

    name: str
    packets: list[float]


class Points(ResponseModel):
    """Packets that were dropped or marked."""

    found: int = Field(description="number in the range, of which many in a pixel are one here")
    time_s: list[float] = Field(description=_TIMES)
    flow: list[str | None] = Field(description="null: of no flow")
    packets: list[float] = Field(description="how many waited then")


class TracedQueue(Part):
    """A queue packet by packet."""

    channel: str
    limit_packets: int | None
    samples: int = Field(description="number of moments at which packets came or left")
    time_s: list[float] = Field(description=_TIMES)
    packets: list[float] = Field(description="how many wait from then on")
    flows: list[PacketsOfFlow] = Field(description="those with most packets; others are the rest")
    lost: Points
    marks: Points


class AckStatesOfFlow(ResponseModel):
    """States of a flow's sender after its ACKs and timers."""

    name: str
    connections: int = Field(description="of the flow; that with most ACKs is shown")
    samples: int = Field(description="number of states in the range")
    time_s: list[float] = Field(description=_TIMES)
    cwnd_segments: Column
    ssthresh_segments: Column
    srtt_s: Column
    in_flight_segments: Column


class AckStates(Part):
    """States of senders after each ACK."""

    flows: list[AckStatesOfFlow]


class TraceRows(Versioned):
    """Rows of a table of a trace as columns. `Results.trace` in Python has the same names."""

    run: str
    trace: int
    table: str
    first: int
    total: int
    columns: dict[str, list[Any]]
