"""What RED and adaptive RED share: struct tc_red_qopt and the table for idle times."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator.kinds.queues import QueueFault, SizedLimit, app_statistic
from orchestrator.protocol.links.qdisc import Qdisc, Setting, Statistic

ECN, HARDDROP, ADAPTATIVE, NODROP = 1, 2, 4, 8  # TC_RED_*
PARAMETERS, TABLE, PROBABILITY, FLAGS = (1,), (2,), (3,), (4,)  # TCA_RED_*


_TOLERANCE = 0.05
_CELLS = 256
_MOST_CELL_LOG = 24  # 255 << Scell_log is kept in 32 bits


@dataclass(frozen=True)
class RedLengths:
    """RED's limit and thresholds in link-layer bytes, and the average's weight 2^-``weight_log``.

    Idle times are counted in transmission times of a packet of ``packet_bytes``.
    """

    limit_bytes: int
    min_bytes: int
    max_bytes: int
    weight_log: int
    packet_bytes: int


def red(settings: tuple[Setting, ...], *statistics: Statistic) -> Qdisc:
    """Return sch_red with those settings and what struct tc_red_xstats counts.

    The settings are sent once only: a change makes the kernel drop the queue's packets uncounted.
    """
    return Qdisc(
        "red",
        tuple(setting._replace(once=True) for setting in settings),
        (
            app_statistic("marks", "packets", 12),
            app_statistic("overflow_drops", "packets", 4),
            *statistics,
        ),
    )


def weight_log(weight: float) -> int:
    """Return k of the weight 2^-k.

    Raises:
        QueueFault: the weight is not within 5% of a power of two.
    """
    log = min(max(0, round(-math.log2(weight))), 31)
    if abs(weight - 2.0**-log) > _TOLERANCE * weight:
        near = sorted({2.0**-log, 2.0 ** -(log + 1 if 2.0**-log > weight else log - 1)})
        text = " or ".join(f"{value:.4g}" for value in near)
        why = f"the kernel takes powers of two; the nearest are {text}"
        raise QueueFault("weight", f"weight of {weight:g}: {why}")
    return log


def parameters(
    sized: SizedLimit, lengths: RedLengths, probability: float, flags: int, reads: int | None = None
) -> tuple[Setting, ...]:
    """Return the settings of struct tc_red_qopt and the table for idle times.

    ``reads`` are the flags that the kernel reports there, if others have their own attribute.

    Raises:
        QueueFault: the thresholds are not in order, or the average does not fit in 32 bits.
    """
    minimum, maximum, log = lengths.min_bytes, lengths.max_bytes, lengths.weight_log
    if maximum < minimum:
        raise QueueFault("max", f"max of {maximum} bytes is below min of {minimum} bytes")
    if lengths.limit_bytes < maximum:
        text = f"a limit of {lengths.limit_bytes} bytes is below max of {maximum} bytes"
        raise QueueFault("limit", text)
    if maximum.bit_length() + log >= 32:
        text = f"max of {maximum} bytes is too long for a weight of 2^-{log}: at most "
        raise QueueFault("max", text + f"{2 ** (31 - log) - 1} bytes (the kernel has 32 bits)")
    cell_log, table = idle_table(log, lengths.packet_bytes, sized.rate_bps)
    return (
        Setting("limit_bytes", PARAMETERS, lengths.limit_bytes),
        Setting("min_bytes", PARAMETERS, minimum, offset=4),
        Setting("max_bytes", PARAMETERS, maximum, offset=8),
        Setting("weight_log", PARAMETERS, log, "B", offset=12),
        Setting("slope_log", PARAMETERS, _slope_log(probability, maximum - minimum), "B", 13),
        Setting("idle_cell_log", PARAMETERS, cell_log, "B", offset=14),
        Setting("flags", PARAMETERS, flags, "B", offset=15, reads=reads),
        Setting("idle_table", TABLE, table.hex(), "s", verified=False),
    )


def _slope_log(probability: float, span_bytes: int) -> int:
    """Return Plog as tc does: (max - min) / 2^Plog is at most the probability, and at least half.

    It is only for display. The kernel computes with the exact probability, TCA_RED_MAX_P.
    """
    return min(31, max(0, math.floor(math.log2(max(1, span_bytes) / probability)) + 1))


def idle_table(log: int, packet_bytes: int, rate_bps: int) -> tuple[int, bytes]:
    """Return Scell_log and TCA_RED_STAB: how much the average shrinks while the queue is idle.

    RED's average after an idle time t is avg (1 - w)^(t / s), s the transmission time of a packet
    (Floyd and Jacobson 1993, section 4). The kernel shifts it right by the entry of cell
    t >> Scell_log (t in us), and inside the first cell lowers it linearly to its half
    (include/net/red.h). A cell is half of the time in which the average halves, to the nearest
    power of two. The result is within a factor of two of the formula. (tc 6.x fills the table
    for ticks of 64 ns and for e, not 2. So its average shrinks ten times slower.)

    Raises:
        QueueFault: the average shrinks more slowly than the kernel can count.
    """
    if log == 0:
        return 0, bytes([0] + [31] * (_CELLS - 1))
    packet_us = packet_bytes * 8e6 / rate_bps
    halvings_per_us = -math.log2(1.0 - 2.0**-log) / packet_us
    cell_log = max(0, round(math.log2(0.5 / halvings_per_us)))
    if cell_log > _MOST_CELL_LOG:
        text = f"an idle queue's average would halve in {1e-6 / halvings_per_us:.0f} s"
        raise QueueFault("weight", f"weight of 2^-{log}: {text}; the kernel counts 47 s at most")
    shifts = [
        min(31, round((cell + 0.5) * 2**cell_log * halvings_per_us)) for cell in range(_CELLS)
    ]
    return cell_log, bytes([0, *shifts[1:]])
