"""UDP that is on and off in turn, for fixed or random times."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from orchestrator.kinds.distributions import Durations
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._datagrams import Datagrams

LEAST_MEAN_S = 1e-6
"""Shortest mean of a period, which costs the test bed about as much wall time."""


class OnOffUdp(Datagrams, TrafficSpec):
    """A UDP source that sends at its rate while on, and nothing while off; it begins on.

    Packet k leaves when the source has been on for k packet times. So the mean rate is rate x on /
    (on + off), even if periods are shorter than a packet time. The lengths of periods are drawn
    from Python's random.Random of the flow's own seed.
    """

    kind: Literal["onoff-udp"] = Field(description="UDP that is on and off in turn")
    on: Durations = Field(description="how long it sends: a time, or a distribution")
    off: Durations = Field(description="how long it is silent: a time, or a distribution")

    @field_validator("on", "off")
    @classmethod
    def _not_too_short(cls, periods: Durations) -> Durations:
        if periods.average() < LEAST_MEAN_S:
            raise ValueError("a period must be at least 1us on average")
        return periods

    def demand(self) -> Demand:
        """Return the demand with both periods in nanoseconds."""
        return self.datagrams(self.on.document(1e9), self.off.document(1e9))
