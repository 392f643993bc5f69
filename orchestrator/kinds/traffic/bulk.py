"""Bulk TCP: as fast as the congestion control allows, for a time or a number of bytes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import Size, located
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._tcp import Windowed
from orchestrator.protocol.engines import ENGINES

Engine = Literal["builtin", "iperf3"]


class Bulk(Windowed, TrafficSpec):
    """A TCP sender that always has data, until it is stopped or has sent all its bytes."""

    kind: Literal["bulk"] = Field(default="bulk", description="always has data to send")
    engine: Engine = Field(
        default="builtin", description="what sends: the built-in end points, or iperf3"
    )
    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description="how much to send, such as 3.2MB; unlimited when not given",
    )

    @model_validator(mode="after")
    def _own_window(self) -> Bulk:
        if self.window is not None and not ENGINES[self.engine].limits_window:
            message = f"the engine {self.engine} cannot limit its window"
            raise located([(("window",), message)])
        return self

    def demand(self) -> Demand:
        """Return the engine and the number of bytes."""
        return Demand(self.engine, self.size_bytes, window=self.window)
