"""Sizes of frames and their headers in bytes, as qdiscs count them: without FCS and preamble."""

from __future__ import annotations

ETHERNET_BYTES = 14
"""Ethernet's header (include/uapi/linux/if_ether.h, ETH_HLEN)."""

DEFAULT_MTU_BYTES = 1500
"""Largest IP packet of a link that does not say otherwise (Ethernet's MTU)."""

LEAST_MTU_BYTES, MOST_MTU_BYTES = 576, 9216
"""Range of a link's MTU.

Every IPv4 host must accept packets of 576 bytes (RFC 791). TCP's smallest default segment fits too
(TCP_MSS_DEFAULT). Switches with jumbo frames support up to 9216 bytes. The kernel's veth and Open
vSwitch would take 68 to 65535 bytes.
"""

FRAME_BYTES = DEFAULT_MTU_BYTES + ETHERNET_BYTES
"""A full frame of a link with the default MTU."""

TUN_BYTES = 4
"""The header of a TUN device (struct tun_pi of include/uapi/linux/if_tun.h).

mahimahi's links carry it with each IP packet. A link that follows a trace counts it instead of
Ethernet's header."""

OPPORTUNITY_BYTES = DEFAULT_MTU_BYTES + TUN_BYTES
"""What may leave at each opportunity of a trace: PACKET_SIZE of mahimahi's link_queue.hh."""

IPV4_BYTES, TCP_BYTES, UDP_BYTES, ICMP_BYTES = 20, 20, 8, 8
"""Headers without options."""

ECHO_FRAME_BYTES = ETHERNET_BYTES + IPV4_BYTES + ICMP_BYTES + 8
"""The frame of an ICMP echo that measures a base RTT: the smallest that is used."""

PROBE_FRAME_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + 8
"""The smallest frame of a packet that measures a queue; its data are its round and number."""

ACK_FRAME_BYTES = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES + 12
"""The frame of an ACK with timestamps."""


def transmission_ns(frame_bytes: int, rate_bps: int | None) -> int:
    """Return how long a link's transmission of a frame takes; no rate means no time.

    sch_link (kmods/link_transmit.c) rounds down in the same way.
    """
    return 0 if rate_bps is None else frame_bytes * 8_000_000_000 // rate_bps
