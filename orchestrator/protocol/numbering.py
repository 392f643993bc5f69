"""Numbers devices and qdiscs; samples and facts refer to them by these numbers.

A link has two devices of its own, to which the nodes at its ends "a" and "b" are attached. A packet
enters the link by one of them and leaves it by the other, whose qdiscs have queue, rate and delay.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import Direction

WIRE_INDEX_BASE = 100
"""Interface index of the first link's first device."""

LINK_ENDS = "ab"
"""A link's ends in the order of their interface indices."""

CHANNEL_ENDS: dict[Direction, tuple[str, str]] = {"forward": ("a", "b"), "reverse": ("b", "a")}
"""For each direction, the devices by which a packet enters and leaves."""

LINK_HANDLE, QUEUE_HANDLE, NETEM_HANDLE = 0x0001_0000, 0x0010_0000, 0x0020_0000
"""Handles of the qdiscs at a link's exit: 1: is the root, sch_link. Below it are 10:, the queue of
packets that wait for transmission, and 20:, the netem that packets pass after it."""

QUEUE_CLASS, NETEM_CLASS = LINK_HANDLE | 1, LINK_HANDLE | 2
"""The classes of sch_link that the queue and the netem are."""

HOST_PREFIX_LENGTH = 8
"""All emulated hosts are in one network of this prefix length."""

POLICER_HANDLE = 0
"""Stands for the policer at the entry; no qdisc has this handle."""


def link_and_direction(channel: str) -> tuple[str, Direction]:
    """Return the link's name and the direction of a channel's name such as ``core:forward``.

    Raises:
        ValueError: the name ends in no direction.
    """
    link, _, ending = channel.rpartition(":")
    for direction in CHANNEL_ENDS:
        if ending == direction:
            return link, direction
    raise ValueError(f"{channel} is no channel: its name must end in :forward or :reverse")


def host_address(number: int) -> str:
    """Return the IPv4 address of the emulated host of that number, from 1."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def host_mac(number: int) -> str:
    """Return the MAC address of the emulated host of that number, from 1."""
    return f"02:00:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


def wire_index(link: int, end: str) -> int:
    """Return the interface index of one end of the link of that number, from 0."""
    return WIRE_INDEX_BASE + len(LINK_ENDS) * link + LINK_ENDS.index(end)
