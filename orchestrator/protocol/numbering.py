"""Numbers devices and qdiscs; samples and facts refer to them by these numbers.

A link has four devices. The nodes are attached to "a" and "b". "f" has the queue of packets that go
forward (from a to b), and "r" has the reverse queue.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import Direction

WIRE_INDEX_BASE = 100
"""Interface index of the first link's first device."""

LINK_ENDS = "abfr"
"""A link's ends in the order of their interface indices."""

CHANNEL_ENDS: dict[Direction, tuple[str, str, str]] = {
    "forward": ("a", "f", "b"),
    "reverse": ("b", "r", "a"),
}
"""For each direction, the devices in the order of a packet: entry, queue, exit."""

ROOT_HANDLE, CHILD_HANDLE = 0x0001_0000, 0x0010_0000
"""Handles 1: of a device's root qdisc (token bucket or netem) and 10: of the queue below it."""

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


def wire_index(link: int, end: str) -> int:
    """Return the interface index of one end of the link of that number, from 0."""
    return WIRE_INDEX_BASE + len(LINK_ENDS) * link + LINK_ENDS.index(end)
