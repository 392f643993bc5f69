"""Where two runs part: the first traced event that is not the same in both."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import ResponseModel, Versioned
from results.contract.comparisons import Differing


class PartingEvent(ResponseModel):
    """A traced event of a run."""

    time_ns: int = Field(description="since the start of traffic")
    kind: Literal["packet", "ack", "state"]
    table: str = Field(description="table of the trace that has it")
    flow: str | None
    place: str = Field(description="a link's direction, or the end of a connection")
    what: str = Field(description="step of the packet, event, or reason of a drop")
    text: str
    values: dict[str, Any] = Field(
        description="the values that are compared; sequence numbers are relative"
    )
    only_here: bool = Field(description="the other run has no equal event at that time")
    other_values: dict[str, Any] | None = Field(
        description="values of the other run's event at that time that is the same but for them; "
        "null: it has none, or an equal one"
    )


class PartingRun(ResponseModel):
    """One of the two runs."""

    id: str
    digest: str
    end_ns: int
    trace: int | None = Field(description="number of the stored trace that shows the events")
    event: PartingEvent | None = Field(
        description="the first event that differs; null: the run has none like it at that time"
    )
    next: list[PartingEvent] = Field(description="the next ten events")
    in_kind: PartingEvent | None = Field(
        description="the first state after an ACK, loss, mark, retransmission or congestion state "
        "after `event` that the other run has not at that time; null: it has none then"
    )


class RunDifference(Versioned):
    """The first difference of two runs, as `orchestrator diff --json` prints it."""

    identical: bool = Field(description="whether the runs are bit-identical")
    set_up: list[Differing] = Field(description="in what their set-ups differ")
    time_ns: int | None = Field(
        description="when they part; null: they are bit-identical, or no traced event differs"
    )
    kind: Literal["packet", "ack", "state"] | None = Field(description="of the first event")
    differs: list[Differing] = Field(description="values of the first event that differ")
    equal: dict[str, int] | None = Field(
        description="equal events before, by table; null: none was looked at"
    )
    equal_until_ns: int | None = Field(
        description="end of the shorter run; null: they differ before, or are bit-identical"
    )
    runs: list[PartingRun]
    in_kind_time_ns: int | None = Field(
        description="when one run has an event `in_kind` first; null: not until `in_kind_until_ns`"
    )
    in_kind_until_ns: int | None = Field(
        description="until when events were compared in kind; null: the runs do not part"
    )
