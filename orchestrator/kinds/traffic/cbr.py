"""Constant bit rate: UDP packets of one size, evenly spaced."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._datagrams import Datagrams


class Cbr(Datagrams, TrafficSpec):
    """A UDP source of constant bit rate: packet k leaves k packet times after the flow's start.

    Times are exact to the nanosecond. The source sends as many packets as are due before the flow's
    end.
    """

    kind: Literal["cbr"] = Field(description="UDP at a constant rate")

    def demand(self) -> Demand:
        """Return the demand of a source that is always on."""
        return self.datagrams()
