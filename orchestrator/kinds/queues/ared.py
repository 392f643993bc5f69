"""Adaptive RED: RED whose probability follows the average queue (Floyd et al. 2001)."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import Duration, QueueLimit, Size
from orchestrator.kinds.queues import QueueFault, QueueSpec, SizedLimit
from orchestrator.kinds.queues._red import (
    ADAPTATIVE,
    ECN,
    HARDDROP,
    PROBABILITY,
    RedLengths,
    parameters,
    red,
    weight_log,
)
from orchestrator.protocol.links.qdisc import Qdisc, Setting, Statistic

_TCA_OPTIONS = 2
_LEAST_PACKETS = 5
_START = 0.02


class AdaptiveRed(QueueSpec):
    """Adaptive RED (Floyd, Gummadi, Shenker 2001), as net/sched/sch_red.c does it.

    The probability is adapted every 500 ms, within 1% and 50%. It rises by min(1%, a quarter of it)
    when the average is above the middle fifth between ``min`` and ``max``. It falls to nine tenths
    when the average is below. It begins just below 1%, as after an idle time.
    """

    kind: Literal["ared"] = Field(description="RED whose probability adapts")
    target: Duration = Field(
        default=0.005,
        description="average delay from which the defaults of `min` and `max` are computed",
    )
    min: QueueLimit | None = Field(
        default=None,
        description="average length from which packets may be dropped or marked. By default half "
        "of `target` at the rate, and at least 5 full-size frames",
    )
    max: QueueLimit | None = Field(
        default=None,
        description="average length from which every packet is dropped or marked; three times "
        "`min` when not given",
    )
    weight: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="weight of the current length in the average, a power of two within 5%. By "
        "default the one nearest to 1 - exp(-1 / frames per second)",
    )
    packet: Size | None = Field(
        default=None,
        description="size of the packet whose transmission time is the unit of idle times; a "
        "full-size frame by default",
    )
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")
    harddrop: bool = Field(
        default=False, description="with ecn: above `max` drop ECN-capable packets too"
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_red and what struct tc_red_xstats counts."""
        if self.harddrop and not self.ecn:
            raise QueueFault("harddrop", "harddrop needs `ecn: true`")
        flags = ADAPTATIVE | ECN * self.ecn | HARDDROP * self.harddrop
        settings = (
            *parameters(sized, self._lengths(sized), _START, flags),
            # The kernel adapts it from then on.
            Setting("probability_q32", PROBABILITY, round(_START * 2**32), verified=False),
        )
        present = Statistic("probability", "2^-32", (((_TCA_OPTIONS, *PROBABILITY), 0),))
        return red(settings, present)

    def _lengths(self, sized: SizedLimit) -> RedLengths:
        if self.min is None:
            half_target = int(self.target / 2 * sized.rate_bps / 8)
            minimum = max(_LEAST_PACKETS * sized.frame_bytes, half_target)
        else:
            minimum = sized.length_bytes("min", self.min)
        maximum = 3 * minimum if self.max is None else sized.length_bytes("max", self.max)
        if self.weight is None:
            frames_per_s = sized.rate_bps / (8 * sized.frame_bytes)
            log = max(0, round(-math.log2(-math.expm1(-1 / frames_per_s))))
        else:
            log = weight_log(self.weight)
        return RedLengths(sized.size_bytes, minimum, maximum, log, self.packet or sized.frame_bytes)
