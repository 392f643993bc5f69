"""Describes the packets that sch_link loses by their numbers; see kmods/link_losses.c.

Packets are counted from 1 in the order of their transmission, since the list was set.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from orchestrator.protocol.links.qdisc import Setting

if TYPE_CHECKING:
    from typing import TypeAlias

Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
"""(first, last) number of packets in a row; the ranges ascend and have no number twice."""

MOST_RANGES = 256
"""TC_LINK_LOSSES_MAX: the kernel's answer about a qdisc has room for so many."""
MOST_NUMBER = 2**32 - 1

PACKETS, PORT, DATA = "lost_packets", "lost_packets_port", "lost_packets_data_only"
"""Names of the settings."""
PREFIX = "lost_packets"
"""How the names of these settings begin, and those of no others."""

_LOSSES, _PORT, _DATA = (8,), (9,), (10,)
_RANGE = struct.Struct("=II")


class ChosenPackets(NamedTuple):
    """The packets that a channel loses, by their numbers among those that count."""

    ranges: Ranges
    flow: str | None = None
    """Only TCP segments and UDP datagrams of that flow count; None counts all."""
    data_only: bool = False
    """Whether only packets with payload count."""


NOTHING = ChosenPackets(())


def settings(chosen: ChosenPackets, port: int) -> tuple[Setting, ...]:
    """Return the settings of a link that loses these packets and counts anew.

    Args:
        chosen: the packets.
        port: the port of its flow's listener; 0 without a flow.
    """
    packed = b"".join(_RANGE.pack(*one) for one in chosen.ranges)
    return (
        Setting(PACKETS, _LOSSES, packed.hex(), "s"),
        Setting(PORT, _PORT, port, "H"),
        Setting(DATA, _DATA, int(chosen.data_only), "B"),
    )


def ranges_of(value: str) -> Ranges:
    """Return the ranges of the setting PACKETS; ValueError when it has another form."""
    data = bytes.fromhex(value)
    if len(data) % _RANGE.size:
        raise ValueError(f"{len(data)} bytes are not whole ranges")
    return tuple((first, last) for first, last in _RANGE.iter_unpack(data))


def reached(ranges: Ranges, number: int) -> int:
    """Return how many of the packets have numbers up to that one."""
    return sum(max(min(last, number) - first + 1, 0) for first, last in ranges)


def text(ranges: Ranges) -> str:
    """Return the ranges as a scenario has them, such as "10, 20-25"."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
