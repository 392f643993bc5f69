"""The fact of the packets that passed each place of the network."""

from __future__ import annotations

from typing import TypedDict


class _OfChannelPackets(TypedDict, total=False):
    policer: tuple[int, int]
    """Packets that passed and that were dropped, where there is a policer."""
    queue: tuple[int, int, int]
    """Packets that were transmitted, that the queue dropped, and that wait in it."""
    delay: tuple[int, int, int]
    """Packets that were delayed, that netem dropped, and that are on their way."""
    ring: tuple[int, int, int]
    """Frames that the host got by interrupts, that its full ring dropped, and that wait in it."""
    interrupts: int
    """Of the network card at which the direction ends; given with ``ring``."""
    super_packets: tuple[int, int, int]
    """Super-packets that were cut, the frames made of them, and super-packets that came to the
    queue as such; only in a run some of whose hosts have TSO."""


class ChannelPackets(_OfChannelPackets):
    """How many packets passed each place of one direction of a link, in a packet's order."""

    sent: int
    """Transmitted by the interface of the node where the direction begins."""
    entered: int
    """Received by the link's first device."""
    exited: int
    """Transmitted by the link's last device."""
    received: int
    """Received by the interface of the node where the direction ends."""


class HostPackets(TypedDict):
    """How many packets a host sent and received, by the counters of its protocols.

    Fragments count as packets, and those of the loopback device do not count.
    """

    ip: int
    """Sent by the IP layer. Several TCP segments that it sends as one buffer count once."""
    transport: int
    """Sent by TCP, UDP and ICMP."""
    twice: int
    """At most so many retransmitted SYN-ACKs count twice in ``transport``."""
    delivered: int
    """Delivered by the IP layer to TCP, UDP or ICMP."""


class PacketReading(TypedDict):
    """The packets at all places of the network at one time."""

    channels: dict[str, ChannelPackets]
    """By names such as "bottleneck:forward"."""
    hosts: dict[str, HostPackets]


class _OfPackets(TypedDict, total=False):
    again: PacketReading
    """A second reading at once, where packets moved since the first one."""


class Packets(PacketReading, _OfPackets):
    """The packets at all places, at the start and at the end; not of lab hosts."""

    fact: str
    at: str


class Sprayed(TypedDict):
    """How many packets a switch sprayed over each of some links while traffic ran."""

    fact: str
    switch: str
    packets: dict[str, int]
    """By the links' names."""
