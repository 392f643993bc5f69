"""DualPI2: a queue of low latency beside a classic one, coupled by a PI controller (RFC 9332)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.kinds.fields import Duration, QueueLimit, Size
from orchestrator.kinds.queues import (
    TCA_STATS2,
    TCA_STATS_QUEUE,
    QueueFault,
    QueueSpec,
    SizedLimit,
    app_statistic,
    microseconds,
)
from orchestrator.protocol.links.qdisc import Qdisc, Setting, Statistic
from orchestrator.units import LIMIT_MAX, Limit, format_time

_LIMIT, _MEMORY, _TARGET, _TUPDATE, _ALPHA, _BETA = 1, 2, 3, 4, 5, 6  # TCA_DUALPI2_*
_STEP_PACKETS, _STEP_US, _MIN_STEP, _COUPLING, _OVERLOAD = 7, 8, 9, 10, 11
_EARLY, _PROTECTION, _ECN_MASK, _SPLIT_GSO = 12, 13, 14, 15

_SHIFT = 8  # ALPHA_BETA_SHIFT of sch_dualpi2.c: the kernel takes 256ths of 1/s
_SCALING = 2  # ALPHA_BETA_SCALING
_MOST_PROBABILITY = 2**32 - 1  # MAX_PROB
_NS_PER_S = 10**9
_MASKS = {"l4s": 1, "classic": 2, "any": 3}  # enum tc_dualpi2_ecn_mask
_MOST_NS_US = (2**32 - 1) // 1000  # the kernel keeps 32 bits of nanoseconds
_OVERLIMITS = ((TCA_STATS2, TCA_STATS_QUEUE), 16)
"""Of struct gnet_stats_queue. sch_dualpi2 counts there what it drops because there is no room."""


class DualPi2(QueueSpec):
    """Coupled dual queue of RFC 9332, as net/sched/sch_dualpi2.c of Linux 6.17 and later does it.

    Packets with ECT(1) or CE go to the L-queue, others to the classic queue. The L-queue is marked
    above a step, and with ``coupling`` times the probability whose square marks or drops the
    classic queue.
    """

    drops_queued: ClassVar[bool] = True

    kind: Literal["dualpi2"] = Field(description="coupled dual queue for L4S")
    limit: QueueLimit = Field(
        default=Limit(packets=10_000),
        description="largest number of packets in both queues together; other units are converted "
        "to full-size frames",
    )
    memory_limit: Size | None = Field(
        default=None,
        description="largest memory of both queues, as the kernel counts; by default twice the "
        "bytes of `limit`",
    )
    target: Duration = Field(
        default=0.015, description="the queueing delay that the controller keeps"
    )
    tupdate: Duration = Field(
        default=0.016, description="period of updates of the probability, below 4.29s"
    )
    alpha: float = Field(
        default=0.16, gt=0, lt=2**23, description="gain of the delay's deviation, in 1/s; n/256"
    )
    beta: float = Field(
        default=3.2, gt=0, lt=2**23, description="gain of the delay's growth, in 1/s; n/256"
    )
    step: Duration = Field(
        default=0.001, description="delay above which all of the L-queue is marked, below 4.29s"
    )
    step_packets: int | None = Field(
        default=None,
        ge=0,
        le=LIMIT_MAX,
        description="packets in the L-queue above which all of it is marked, in place of `step`",
    )
    least_step_queue: int = Field(
        default=0,
        ge=0,
        le=LIMIT_MAX,
        description="packets that the L-queue must have for the step to mark any",
    )
    coupling: int = Field(
        default=2, ge=1, le=255, description="factor from the base probability to the L-queue's"
    )
    drop_overload: bool = Field(
        default=True,
        description="at a probability of 100% drop packets of the L-queue; else let both overflow",
    )
    drop_early: bool = Field(
        default=False, description="drop as packets come, and not as they leave"
    )
    classic_protection: int = Field(
        default=10,
        ge=0,
        le=100,
        description="share of the link, in percent, that the L-queue leaves to the classic queue",
    )
    l_queue_ecn: Literal["l4s", "classic", "any"] = Field(
        default="l4s",
        description="which packets go to the L-queue: those with ECT(1) or CE (l4s), ECT(0) or CE "
        "(classic), or any of them",
    )
    split_gso: bool = Field(
        default=True, description="take a segment of several packets apart before it is queued"
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_dualpi2 and what struct tc_dualpi2_xstats counts.

        Raises:
            QueueFault: a time is not possible.
        """
        own_memory = self.memory_limit
        return Qdisc(
            "dualpi2",
            (
                Setting("limit_packets", (_LIMIT,), sized.packets),
                *(
                    ()
                    if own_memory is None
                    else (Setting("memory_limit_bytes", (_MEMORY,), own_memory),)
                ),
                Setting("target_us", (_TARGET,), microseconds("target", self.target)),
                Setting("tupdate_us", (_TUPDATE,), _short("tupdate", self.tupdate)),
                _gain("alpha", _ALPHA, self.alpha),
                _gain("beta", _BETA, self.beta),
                self._step(),
                Setting("least_step_queue_packets", (_MIN_STEP,), self.least_step_queue),
                Setting("coupling", (_COUPLING,), self.coupling, "B"),
                Setting("drop_overload", (_OVERLOAD,), int(self.drop_overload), "B"),
                Setting("drop_early", (_EARLY,), int(self.drop_early), "B"),
                Setting("classic_protection", (_PROTECTION,), self.classic_protection, "B"),
                Setting("l_queue_ecn", (_ECN_MASK,), _MASKS[self.l_queue_ecn], "B"),
                Setting("split_gso", (_SPLIT_GSO,), int(self.split_gso), "B"),
            ),
            (
                app_statistic("marks", "packets", 24),
                app_statistic("probability", "2^-32", 0),
                app_statistic("classic_delay", "us", 4),
                app_statistic("l_queue_delay", "us", 8),
                app_statistic("classic_enqueued", "packets", 12),
                app_statistic("l_queue_enqueued", "packets", 16),
                app_statistic("step_marks", "packets", 28),
                Statistic("overflow_drops", "packets", (_OVERLIMITS,)),
                app_statistic("largest_queue", "packets", 20),
                app_statistic("classic_credit", "bytes", 32, signed=True),
                app_statistic("memory", "bytes", 36),
                app_statistic("largest_memory", "bytes", 40),
            ),
        )

    def _step(self) -> Setting:
        if self.step_packets is not None:
            return Setting("step_packets", (_STEP_PACKETS,), self.step_packets)
        return Setting("step_us", (_STEP_US,), _short("step", self.step))


def _short(key: str, time_s: float) -> int:
    """Return a time in us that fits into 32 bits of nanoseconds."""
    time_us = microseconds(key, time_s)
    if time_us > _MOST_NS_US:
        raise QueueFault(key, f"{key} of {format_time(time_s)}: the kernel takes 4.29s at most")
    return time_us


def _gain(name: str, attribute: int, per_s: float) -> Setting:
    """Return a gain in 256ths, with what the kernel reports of it after two roundings."""
    value = max(round(per_s * 2**_SHIFT), 1)
    scaled = (value * _MOST_PROBABILITY >> _SCALING) // _NS_PER_S
    reads = (scaled * _NS_PER_S << _SCALING) // _MOST_PROBABILITY
    return Setting(f"{name}_256ths", (attribute,), value, reads=reads)
