"""Ping: ICMP echo requests at even intervals, and the round-trip times of their replies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from orchestrator.kinds.fields import Period, Size
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.protocol.engine_parameters import PingTraffic
from orchestrator.protocol.links.frames import (
    ETHERNET_BYTES,
    ICMP_BYTES,
    IPV4_BYTES,
    MOST_MTU_BYTES,
)
from orchestrator.protocol.units import nanoseconds

LEAST_BYTES = IPV4_BYTES + ICMP_BYTES


def _packet(size_bytes: int) -> int:
    if not LEAST_BYTES <= size_bytes <= MOST_MTU_BYTES:
        raise ValueError(
            f"a packet has {LEAST_BYTES}B (IP, ICMP) to the smallest MTU of its path, at most "
            f"{MOST_MTU_BYTES}B, not {size_bytes}B"
        )
    return size_bytes


class Ping(TrafficSpec):
    """ICMP echo requests from the source (RFC 792), which the kernel of the sink answers.

    Request k leaves k intervals after the flow's start. A round-trip time lasts until the kernel of
    the source has the reply. The test bed sends the requests itself, at exact times.
    """

    kind: Literal["ping"] = Field(description="ICMP echoes: the RTT over time")
    interval: Period = Field(default=1.0, description="time between two requests, from 1ms")
    packet_size: Annotated[Size, AfterValidator(_packet)] = Field(
        default=84,
        description="size of each IP packet with its headers, from 28B to the smallest MTU of the "
        "flow's path, at most 9216B; 84B is that of the program ping",
    )
    number: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="number of requests; unlimited when not given",
    )

    def demand(self) -> Demand:
        """Return the demand, with the interval in nanoseconds."""
        interval_ns = nanoseconds(self.interval)
        parameters: PingTraffic = {
            "interval_ns": interval_ns,
            "packet_bytes": self.packet_size,
            "number": self.number,
            "rate_bps": max(1, 8 * (self.packet_size + ETHERNET_BYTES) * 10**9 // interval_ns),
        }
        return Demand("ping", None, "icmp", parameters)
