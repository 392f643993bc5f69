"""RED: random early detection (Floyd and Jacobson 1993)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit, Size
from orchestrator.kinds.queues import QueueFault, QueueSpec, SizedLimit, SomeChance
from orchestrator.kinds.queues._red import (
    ECN,
    FLAGS,
    HARDDROP,
    NODROP,
    PROBABILITY,
    RedLengths,
    parameters,
    red,
    weight_log,
)
from orchestrator.protocol.links.qdisc import Qdisc, Setting

_SUPPORTED = 15  # TC_RED_SUPPORTED_FLAGS of net/sched/sch_red.c


class Red(QueueSpec):
    """Random early detection (Floyd and Jacobson 1993), as net/sched/sch_red.c does it.

    Lengths are compared in link-layer bytes. Above ``max`` every packet is dropped or marked:
    the kernel has no gentle variant.
    """

    kind: Literal["red"] = Field(description="random early detection")
    min: QueueLimit = Field(
        description="average length from which packets may be dropped or marked; written like "
        "`limit`"
    )
    max: QueueLimit = Field(
        description="average length from which every packet is dropped or marked"
    )
    probability: SomeChance = Field(
        default=0.02,
        description="probability of being dropped or marked when the average is just below `max`",
    )
    weight: float = Field(
        default=0.002,
        gt=0,
        le=1,
        description="weight of the current length in the average: a power of two within 5% (0.002 "
        "is taken as 2^-9). 1 disables averaging",
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
    nodrop: bool = Field(
        default=False, description="with ecn: let packets that are not ECN-capable pass"
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_red and what struct tc_red_xstats counts."""
        for key in ("harddrop", "nodrop"):
            if getattr(self, key) and not self.ecn:
                raise QueueFault(key, f"{key} needs `ecn: true`")
        lengths = RedLengths(
            sized.size_bytes,
            sized.length_bytes("min", self.min),
            sized.length_bytes("max", self.max),
            weight_log(self.weight),
            self.packet or sized.frame_bytes,
        )
        flags = ECN * self.ecn | HARDDROP * self.harddrop | NODROP * self.nodrop
        settings = (
            *parameters(sized, lengths, self.probability, 0, reads=flags & ~NODROP),
            Setting("probability_q32", PROBABILITY, round(self.probability * 2**32)),
            Setting("flags_all", FLAGS, flags),
            Setting("flags_known", FLAGS, _SUPPORTED, offset=4),
        )
        return red(settings)
