"""Poisson traffic: UDP packets of one size at random times that are independent of each other."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._datagrams import Datagrams


class Poisson(Datagrams, TrafficSpec):
    """A UDP source whose packets leave at the times of a Poisson process of that mean rate.

    Gaps between packets are exponential, and so is the time from the flow's start to the first
    packet. Their mean is the time of a packet at the rate. They are drawn from Python's
    random.Random of the flow's own seed. A number n of packets per second is a rate of n x 8 x
    (packet size + 14 bytes).
    """

    kind: Literal["poisson"] = Field(description="UDP at the times of a Poisson process")

    def demand(self) -> Demand:
        """Return the demand of a source that is always on, with exponential gaps."""
        return self.datagrams(exponential_gaps=True)
