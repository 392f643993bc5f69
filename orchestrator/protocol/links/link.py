"""Describes the transmitter and the propagation delay of one direction of a link: sch_link.

sch_link is a module of this project. Its attributes and statistics are those of
kmods/uapi/pkt_sch_link.h. A netem below it has the delay where packets are impaired; the link's own
delay is then 0.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.protocol.units import nanoseconds
from orchestrator.protocol.version import LINK_MODEL

if TYPE_CHECKING:
    from orchestrator.protocol.specification import LinkQdiscSpec

RATE_MAX_BPS = 100_000_000_000
"""TC_LINK_RATE_MAX_BPS: a time in bit * ns must fit into 64 bits."""

DELAY_MAX_NS = 3_600_000_000_000
"""TC_LINK_DELAY_MAX_NS."""

COALESCE_MAX_NS = 1_000_000_000
"""TC_LINK_COALESCE_MAX_NS."""

RATE, DELAY, GRANTED, BYPASS, HELD = "rate_bps", "delay_ns", "granted", "bypass", "held"
CUTS, OWNED = "cuts", "owned"
COALESCE, COALESCE_FRAMES, RING = "coalesce_ns", "coalesce_frames", "ring_packets"
"""Names of the settings."""

_MODEL, _RATE_BPS, _DELAY_NS, _GRANTED = (1,), (2,), (3,), (4,)
GRANT_BYTES_ATTRIBUTE = 5
"""TCA_LINK_GRANT_BYTES: lets so many bytes more leave at once, on a link that is granted."""
_BYPASS = (6,)
_HELD = (12,)
_CUTS = (13,)
_WHEN = {"first": 1, "last": 2}
_OWNED = (14,)
_COALESCE, _COALESCE_FRAMES, _RING = (15,), (16,), (17,)
Cuts = Literal["first", "last"]
"""When super-packets become frames, before or after they wait in the queue: TC_LINK_CUTS_*."""

INTERVAL_ATTRIBUTE = 11
"""TCA_LINK_INTERVAL: begins another interval of the largest sojourn time."""

XSTATS_FIELDS = {
    "sent_bytes": "Q",
    "sent_packets": "Q",
    "queue_bytes": "Q",
    "queue_packets": "Q",
    "queue_backlog": "I",
    "queue_qlen": "I",
    "line_drops": "Q",
    "losses_packets": "Q",
    "losses_lost": "Q",
    "losses_earlier_packets": "Q",
    "losses_earlier_lost": "Q",
    "cut_packets": "Q",
    "cut_frames": "Q",
    "aggregates": "Q",
    "ring_interrupts": "Q",
    "ring_delivered": "Q",
    "ring_drops": "Q",
    "ring_frames": "Q",
    "queue_drops": "Q",
}
"""Names and formats of the fields of struct tc_link_xstats."""
XSTATS = struct.Struct("=" + "".join(XSTATS_FIELDS.values()))

SOJOURN_ATTRIBUTES = {"packets": 2, "sum_ns": 3, "largest_ns": 5, "aggregates": 6}
"""TCA_LINK_SOJOURN_*: what a link counts of the times that packets waited, all 64-bit integers.

The largest one is that of the interval that INTERVAL_ATTRIBUTE ended."""
SOJOURN_BUCKETS_ATTRIBUTE = 7
SOJOURN_BUCKET = struct.Struct("=2I")
"""struct tc_link_bucket: its index, and its packets modulo 2^32."""
MOST_BUCKETS = 1984
BUCKET_UNIT_NS = 8
_OCTAVE = 64
"""TC_LINK_BUCKETS, TC_LINK_BUCKET_UNIT_NS, and the buckets of an octave."""


def bucket_span_ns(index: int) -> tuple[int, int]:
    """Return where a bucket of the histogram begins and ends, in ns."""
    if index < 2 * _OCTAVE:
        return index * BUCKET_UNIT_NS, (index + 1) * BUCKET_UNIT_NS
    shift = index // _OCTAVE - 1
    low = (index % _OCTAVE + _OCTAVE) << shift
    return low * BUCKET_UNIT_NS, (low + (1 << shift)) * BUCKET_UNIT_NS


class ReceiveRing(NamedTuple):
    """The receive ring of the network card at which one direction of a link ends.

    The interrupt comes ``coalesce_ns`` after the first frame that waits, or when ``frames`` wait; 0
    of these: no number raises it. The ring holds ``limit`` frames; 0: any number.
    """

    coalesce_ns: int
    frames: int = 0
    limit: int = 0

    @property
    def alone_ns(self) -> int:
        """How long a frame waits that comes alone."""
        return 0 if self.frames == 1 else self.coalesce_ns

    def settings(self) -> tuple[Setting, ...]:
        """Return the settings of a sch_link."""
        return (
            Setting(COALESCE, _COALESCE, self.coalesce_ns, "Q"),
            Setting(COALESCE_FRAMES, _COALESCE_FRAMES, self.frames),
            Setting(RING, _RING, self.limit),
        )


class Transmitter(NamedTuple):
    """How one direction of a link sends packets; a rate of None takes no time.

    One that ``cuts`` makes frames of super-packets, as a network card with TSO does: ``first``, or
    ``last`` where the queue is the host's and has them whole.
    With ``owned`` packets belong to their sockets until they have been sent. With a ``ring`` they
    wait for an interrupt where the link ends.
    """

    rate_bps: int | None
    delay_s: float
    cuts: Cuts | None = None
    owned: bool = False
    ring: ReceiveRing | None = None

    def qdisc(self) -> Qdisc:
        """Return the sch_link that does this."""
        return Qdisc("link", (
            Setting("model", _MODEL, LINK_MODEL),
            rate_setting(self.rate_bps or 0),
            delay_setting(self.delay_s),
            Setting(GRANTED, _GRANTED, 0, "B"),
            bypass_setting(False),
            *((Setting(CUTS, _CUTS, _WHEN[self.cuts], "B"),) if self.cuts else ()),
            *((Setting(OWNED, _OWNED, 1, "B"),) if self.owned else ()),
            *(() if self.ring is None else self.ring.settings()),
        ))  # fmt: skip


def has_ring(link: LinkQdiscSpec | None) -> bool:
    """Return whether frames wait for interrupts where a link ends, by its specification."""
    return link is not None and any(each["name"] == COALESCE for each in link["settings"])


def rate_of(link: LinkQdiscSpec | None) -> int:
    """Return the rate of a link's specification in bit/s, 0 where it has none."""
    if link is None:
        return 0
    return next(int(each["value"]) for each in link["settings"] if each["name"] == RATE)


def rate_setting(rate_bps: int) -> Setting:
    """Return the setting of the rate."""
    return Setting(RATE, _RATE_BPS, rate_bps, "Q")


def delay_setting(delay_s: float) -> Setting:
    """Return the setting of the propagation delay."""
    return Setting(DELAY, _DELAY_NS, nanoseconds(delay_s), "Q")


def bypass_setting(on: bool) -> Setting:
    """Return the setting with which packets bypass the link's netem, as probes need it."""
    return Setting(BYPASS, _BYPASS, int(on), "B")


def granted_setting() -> Setting:
    """Return the setting with which packets leave by grants only, and not by the rate."""
    return Setting(GRANTED, _GRANTED, 1, "B")


def held_setting(on: bool) -> Setting:
    """Return the setting with which the transmitter stands still."""
    return Setting(HELD, _HELD, int(on), "B")
