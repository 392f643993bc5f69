"""The types of the measurements of the idle network in a specification.

All values are as in ``specification.py``.
"""

from __future__ import annotations

from typing import TypedDict


class Echoes(TypedDict):
    """How a round trip is measured."""

    frame_bytes: int
    """Length of each echo's frame."""
    expected_ns: int
    """The RTT without queueing."""
    attempts: int
    """Echoes that are sent at most until one comes back."""
    fill_ns: int
    """Time to wait before each echo, in which every policer on the way gets tokens for it."""


class _OfRoundTripProbe(TypedDict, total=False):
    # Not NotRequired: the fact RoundTrip derives from this class, and tests read its optional keys
    # at run time, when an annotation is only a string.
    bare_ns: int
    """RTT of a lab's machines without emulation, part of ``expected_ns``."""


class RoundTripProbe(Echoes, _OfRoundTripProbe):
    """A measurement of the base RTT between two hosts on the idle network."""

    source: str
    sink: str


class EndProbe(Echoes):
    """The same measurement after traffic, over the channels in ``path``, there and back."""

    source: str
    sink: str
    path: list[str]


class BurstProbe(TypedDict):
    """A measurement of a queue's rate, and of its limit if the burst overfills it."""

    channel: str
    source: str
    sink: str
    frame_bytes: int
    """Length of each packet's frame."""
    packets: int
    """Packets of each burst."""
    rounds: int
    """Number of bursts."""
    fill_ns: int
    """Time to wait before the first burst, in which the policers on the way get tokens for one."""
    settle_ns: int
    """Time to wait for the answers to a burst."""
    rate_bps: int
    """The queue's rate."""
    queue_packets: int | None
    """The limit of a queue that is overfilled; None if it is not."""
    behind_ns: int
    """From the end of a packet's wait in the queue to its exit: transmission and delay."""


class PolicerProbe(TypedDict):
    """A measurement of the rate and the bucket of a policer."""

    channel: str
    source: str
    sink: str
    packets: int
    """Packets of each burst."""
    rounds: int
    """Number of bursts."""
    fill_ns: int
    """Time to wait before the first burst, in which an empty bucket fills."""
    pause_ns: int
    """From one burst to the next."""
    settle_ns: int
    """Time to wait for the answers to the last burst, in which the bucket fills again."""
    rate_bps: int
    burst_bytes: int
    """The size of the bucket."""
    frame_bytes: int
    """Size of each packet's frame, with Ethernet's header."""


class ProbesSpec(TypedDict):
    """The measurements of the idle network before traffic, and of round trips after it."""

    round_trips: list[RoundTripProbe]
    round_trips_end: list[EndProbe]
    bursts: list[BurstProbe]
    policers: list[PolicerProbe]
    fill_ns: int
    """Time in which the buckets of all policers fill; waited for before traffic."""
