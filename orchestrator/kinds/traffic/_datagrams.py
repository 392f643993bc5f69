"""The fields and the demand that all sources of UDP datagrams share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from orchestrator.kinds.fields import LinkRate, Size, Strict
from orchestrator.kinds.traffic import Demand
from orchestrator.protocol.engine_parameters import UdpTraffic
from orchestrator.protocol.links.frames import (
    DEFAULT_MTU_BYTES,
    IPV4_BYTES,
    MOST_MTU_BYTES,
    UDP_BYTES,
)
from orchestrator.protocol.specification import QuantitySpec

HEADERS_BYTES = IPV4_BYTES + UDP_BYTES
"""IPv4 and UDP."""
MARK_BYTES = 16
"""The sequence number and the due time with which a payload begins."""
ECN_FIELDS = {"ect1": 1, "ect0": 2}
LEAST_BYTES = HEADERS_BYTES + MARK_BYTES


def _packet(size_bytes: int) -> int:
    if not LEAST_BYTES <= size_bytes <= MOST_MTU_BYTES:
        raise ValueError(
            f"a packet has {LEAST_BYTES}B (IP, UDP, sequence number and time) to the smallest MTU "
            f"of its path, at most {MOST_MTU_BYTES}B, not {size_bytes}B"
        )
    return size_bytes


class Datagrams(Strict):
    """Rate and size of the packets of a UDP source."""

    rate: LinkRate = Field(
        description="rate while it sends, on the link layer as links count (each packet and 14 "
        "bytes of Ethernet). Such as 5mbit, or 95% of the narrowest link on its path at the "
        "beginning of the run"
    )
    packet_size: Annotated[Size, AfterValidator(_packet)] = Field(
        default=DEFAULT_MTU_BYTES,
        description="size of each IP packet with its headers, from 44B to the smallest MTU of "
        "the flow's path, at most 9216B",
    )
    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description="payload to send, in whole packets; unlimited when not given",
    )

    ecn: Literal["ect0", "ect1"] | None = Field(
        default=None,
        description="mark each packet as ECN-capable: `ect1` as L4S does (RFC 9331), which "
        "dualpi2 takes into its L-queue, or `ect0`. The source does not react to marks. Not "
        "ECN-capable when not given",
    )

    def datagrams(
        self,
        on: QuantitySpec | None = None,
        off: QuantitySpec | None = None,
        exponential_gaps: bool = False,
    ) -> Demand:
        """Return the demand of a source that is on and off in turn, or always on."""
        parameters: UdpTraffic = {"packet_bytes": self.packet_size, "on": on, "off": off}
        if exponential_gaps:
            parameters["exponential_gaps"] = True
        if self.ecn is not None:
            parameters["ecn_field"] = ECN_FIELDS[self.ecn]
        return Demand("udp", self.size_bytes, "udp", parameters, self.rate)
