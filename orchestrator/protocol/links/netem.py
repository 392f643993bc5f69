"""Converts impairments to settings of the kernel's sch_netem.

Kinds of losses and jitter describe what a channel does to packets by the tuples of this module, in
probabilities and whole nanoseconds. The functions turn them into settings of one sch_netem
(net/sched/sch_netem.c). Attributes and structures are those of include/uapi/linux/pkt_sched.h.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.protocol.units import nanoseconds

if TYPE_CHECKING:
    from typing import TypeAlias

LIMIT_PACKETS = 10_000_000
"""netem's own limit, far above any bandwidth-delay product: a delay line never drops."""

CHANCE_STEP = 2.0**-32
"""netem draws 32 bits for each packet, so every probability is a whole number of these steps."""
CHANCE_MIN_STEPS = 2
"""netem's number 0 means never and 1 means two steps, so one step is not possible."""

ALWAYS_Q32 = 2**32 - 1
"""netem's number of the probability 1."""

LOSS_PREFIX = "loss_"
"""Prefix of the names of all settings of a loss, and of no others."""
LOSS, REORDERING = "loss_q32", "reorder_q32"
DUPLICATION, CORRUPTION = "duplicate_q32", "corrupt_q32"
"""Names of the settings that are thresholds of probabilities."""
REORDERING_GAP = "reorder_gap_packets"
IMPAIRMENT_PREFIXES = (LOSS_PREFIX, "reorder_", "duplicate_", "corrupt_")
"""How the names of all settings of loss, reordering, duplication and corruption begin.

No other setting's name begins so.
"""

SPREAD_MOST_NS = 2**31 - 1
"""sch_netem keeps a jitter in 31 bits and truncates a larger one without an error."""
TABLE_SCALE = 8192
"""NETEM_DIST_SCALE: an entry of this size in a table of delays is one spread."""
TABLE_ENTRIES = 4096
UNIFORM_TABLE = tuple(
    TABLE_SCALE * (2 * place + 1 - TABLE_ENTRIES) // TABLE_ENTRIES for place in range(TABLE_ENTRIES)
)
"""The entries of a uniform distribution from -1 to 1 spread: the middles of equal parts."""

_NO_TIME_BYTES_PER_S = 2**62
"""A rate at which a packet takes no time; netem with a rate keeps the order of packets."""

# Places in struct tc_netem_qopt; latency (0) and jitter (20) are sent as attributes of 64 bits.
_LIMIT_OFFSET, _LOSS_OFFSET, _GAP_OFFSET, _DUPLICATE_OFFSET, _JITTER_OFFSET = 4, 8, 12, 16, 20
# TCA_NETEM_*, and NETEM_LOSS_GE inside TCA_NETEM_LOSS
_DELAY_DIST, _REORDER, _CORRUPT, _RATE, _RATE64 = (2,), (3,), (4,), (6,), (8,)
_LATENCY64, _JITTER64, _PRNG_SEED, _LOSS_GE = (10,), (11,), (14,), (5, 2)


class IndependentLoss(NamedTuple):
    """Each packet is lost with the same probability, independently of the others."""

    probability: float


class GilbertElliottLoss(NamedTuple):
    """A channel that is Good or Bad; the state may change after each packet."""

    to_bad: float
    """Probability that Good turns Bad after a packet."""
    to_good: float
    """Probability that Bad turns Good after a packet."""
    bad_loss: float
    """Probability that a packet is lost in Bad."""
    good_loss: float
    """Probability that a packet is lost in Good."""


Loss: TypeAlias = "IndependentLoss | GilbertElliottLoss"


class Jitter(NamedTuple):
    """Each packet's delay is the channel's plus an entry of the table in multiples of the spread.

    ``table`` has up to 4096 entries of 16 bits in units of spread / TABLE_SCALE, which packets draw
    with equal chance; None is uniform from -1 to 1 spread. A spread of 0 without a table is no
    jitter.
    """

    spread_ns: int
    table: tuple[int, ...] | None = None

    @classmethod
    def offset(cls, offset_ns: int) -> Jitter:
        """Return what adds the same time, also a negative one, to the delay of every packet."""
        return cls(abs(offset_ns), (TABLE_SCALE if offset_ns >= 0 else -TABLE_SCALE,))


class Reordering(NamedTuple):
    """After ``gap`` - 1 delayed packets each is sent at once with a probability, until one is."""

    probability: float
    gap: int = 1


class Netem(NamedTuple):
    """All impairments of one channel, applied after its queue.

    None is not sent to the kernel, so its default applies. A probability of 0 is sent.
    """

    delay_s: float
    seed: int
    """64-bit seed of sch_netem's generator; sent once, because it restarts the generator."""
    loss: Loss | None = None
    jitter: Jitter | None = None
    reordering: Reordering | None = None
    duplication: float | None = None
    corruption: float | None = None
    keep_order: bool = False
    """Whether packets never overtake each other."""

    def qdisc(self) -> Qdisc:
        """Return the sch_netem that does this."""
        order = (_kept_order(),) if self.keep_order else ()
        jittered = self.jitter is not None
        return Qdisc("netem", (
            Setting("limit_packets", (), LIMIT_PACKETS, offset=_LIMIT_OFFSET),
            *(() if self.loss is None else loss_settings(self.loss)),
            # The last word of the fixed structure, so that the whole structure is sent.
            Setting("jitter_ticks", (), 0, offset=_JITTER_OFFSET, verified=False),
            delay_setting(self.delay_s),
            Setting("seed", _PRNG_SEED, self.seed, "Q", once=True),
            *(jitter_settings(self.jitter) if jittered else ()),
            *(order if jittered else ()),
            *(() if self.reordering is None else reordering_settings(self.reordering)),
            *(() if jittered else order),
            *(() if self.duplication is None else duplication_settings(self.duplication)),
            *(() if self.corruption is None else corruption_settings(self.corruption)),
        ))  # fmt: skip


def chance_steps(probability: float) -> int:
    """Return a probability in netem's unit: whole steps of 2^-32."""
    return round(probability / CHANCE_STEP)


def chance_threshold(probability: float) -> int:
    """Return netem's threshold: it acts when a draw of 32 bits is not above it, and at 0 never."""
    return max(chance_steps(probability) - 1, 0)


def threshold_chance(threshold: int) -> float:
    """Return the probability of a threshold of netem."""
    return (threshold + 1) * CHANCE_STEP if threshold else 0.0


def delay_setting(delay_s: float) -> Setting:
    """Return the setting of the channel's delay."""
    return Setting("delay_ns", _LATENCY64, nanoseconds(delay_s), "q")


def loss_settings(loss: Loss) -> tuple[Setting, ...]:
    """Return the settings of a loss; their names begin with LOSS_PREFIX.

    netem leaves a state when a draw of 32 bits is below p or r. A packet is lost in Good when the
    draw is below 1-k, but in Bad when it is above h. The names are those of struct
    tc_netem_gemodel.
    """
    if isinstance(loss, IndependentLoss):
        return (Setting(LOSS, (), chance_threshold(loss.probability), offset=_LOSS_OFFSET),)
    to_bad, to_good, good = (
        min(chance_steps(one), ALWAYS_Q32) for one in (loss.to_bad, loss.to_good, loss.good_loss)
    )
    kept = max(2**32 - chance_steps(loss.bad_loss) - 1, 0)
    return (
        Setting("loss_to_bad_q32", _LOSS_GE, to_bad),
        Setting("loss_to_good_q32", _LOSS_GE, to_good, offset=4),
        Setting("loss_bad_kept_q32", _LOSS_GE, kept, offset=8),
        Setting("loss_good_q32", _LOSS_GE, good, offset=12),
    )


def jitter_settings(jitter: Jitter | None, tabled: bool = False) -> tuple[Setting, ...]:
    """Return the settings of a jitter except the one for the order; None is no jitter.

    ``tabled`` tells that sch_netem has a table, which it never removes. A uniform distribution is
    then also a table.
    """
    spread_ns, table = jitter or (0, None)
    spread = Setting("jitter_ns", _JITTER64, spread_ns, "q")
    if table is None and (not spread_ns or not tabled):
        return (spread,)
    packed = packed_table(UNIFORM_TABLE if table is None else table)
    # The kernel does not report its table.
    return spread, Setting("jitter_table", _DELAY_DIST, packed.hex(), "s", verified=False)


def packed_table(entries: tuple[int, ...]) -> bytes:
    """Return entries in the format of TCA_NETEM_DELAY_DIST."""
    return struct.pack(f"={len(entries)}h", *entries)


def reordering_settings(reordering: Reordering | None) -> tuple[Setting, ...]:
    """Return the settings of a reordering; None delays every packet."""
    probability, gap = reordering or (0.0, 0)
    return (
        Setting(REORDERING_GAP, (), gap, offset=_GAP_OFFSET),
        Setting(REORDERING, _REORDER, chance_threshold(probability)),
        Setting("reorder_correlation_q32", _REORDER, 0, offset=4),
    )


def order_settings(kept: bool) -> tuple[Setting, ...]:
    """Return the settings that switch the keeping of the order on or off.

    netem takes the larger of a 32-bit and a 64-bit rate. It reports a rate above 32 bits in both,
    and any other only in the 32-bit one.
    """
    small = Setting("rate32_bytes_per_s", _RATE, 0, reads=2**32 - 1 if kept else 0)
    end = Setting("rate_cell_overhead_bytes", _RATE, 0, offset=12)
    free = Setting("rate_bytes_per_s", _RATE64, 0, "Q", verified=False)
    return _kept_order() if kept else free, small, end


def _kept_order() -> Setting:
    return Setting("rate_bytes_per_s", _RATE64, _NO_TIME_BYTES_PER_S, "Q")


def duplication_settings(probability: float) -> tuple[Setting, ...]:
    """Return the settings for sending a packet twice with that probability."""
    return (Setting(DUPLICATION, (), chance_threshold(probability), offset=_DUPLICATE_OFFSET),)


def corruption_settings(probability: float) -> tuple[Setting, ...]:
    """Return the settings for flipping one bit of a packet with that probability."""
    return (
        Setting(CORRUPTION, _CORRUPT, chance_threshold(probability)),
        Setting("corrupt_correlation_q32", _CORRUPT, 0, offset=4),
    )
