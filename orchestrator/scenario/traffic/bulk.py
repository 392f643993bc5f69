"""Bulk TCP: as fast as the congestion control allows, for a time or a number of bytes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.scenario.base import Size
from orchestrator.scenario.traffic import Demand, Engine, TrafficSpec


class Bulk(TrafficSpec):
    """A TCP sender that always has data, until it is stopped or has sent all its bytes."""

    kind: Literal["bulk"] = Field(default="bulk", description="always has data to send")
    engine: Engine = Field(
        default="builtin", description="what sends: our own end point, or iperf3"
    )
    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description="how much to send (such as 3.2MB); without end when not given",
    )

    def demand(self) -> Demand:
        """Return the engine and the number of bytes."""
        return Demand(self.engine, self.size_bytes)
