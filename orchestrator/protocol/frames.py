"""Sizes of frames and their headers in bytes, as qdiscs count them: without FCS and preamble."""

from __future__ import annotations

ETHERNET_BYTES = 14
"""Ethernet's header (include/uapi/linux/if_ether.h, ETH_HLEN)."""

FRAME_BYTES = 1514
"""A full frame: an MTU of 1500 bytes and Ethernet's header."""

IPV4_BYTES, TCP_BYTES, UDP_BYTES = 20, 20, 8
"""Headers without options."""
