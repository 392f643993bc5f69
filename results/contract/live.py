"""The state of a run in progress: the file beside the store, and what the API answers of it."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from results.contract.base import Number, ResponseModel


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

    def document(self) -> dict[str, Any]:
        """Return the JSON object, in which a number that is not finite stays an error.

        Values have None already where there is no sample, and this is made twice a second.
        """
        return self.model_dump(exclude_unset=True, warnings=False)
