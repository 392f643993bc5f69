"""CAKE: flow queueing with isolation of hosts, each queue with COBALT."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from pydantic import Field

from orchestrator.kinds.fields import Duration, QueueLimit
from orchestrator.kinds.queues import (
    TCA_STATS2,
    TCA_STATS_APP,
    QueueFault,
    QueueSpec,
    SizedLimit,
    microseconds,
)
from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.protocol.links.qdisc import Qdisc, Setting, Statistic
from orchestrator.units import LIMIT_MAX, Limit

# TCA_CAKE_*
_RATE, _DIFFSERV, _FLOW_MODE, _RTT, _TARGET, _MEMORY, _ACK_FILTER = 2, 3, 5, 7, 8, 10, 16
_BEST_EFFORT = 3
_TIN_STATS, _ACKS_DROPPED, _MARKED, _PEAK_DELAY, _AVERAGE_DELAY = 10, 6, 8, 18, 19
_MEMORY_OF_A_FRAME_BYTES = 2304

Isolation = Literal[
    "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
    "triple-isolate",
]  # fmt: skip
AckFilter = Literal["off", "on", "aggressive"]


class Cake(QueueSpec):
    """CAKE (Hoiland-Jorgensen, Taht, Morton 2018), as net/sched/sch_cake.c does it.

    It has one tin (``besteffort``) and no shaper of its own (``unlimited``): the rate is the
    link's. It always marks ECN-capable packets instead of dropping them.
    """

    drops_queued: ClassVar[bool] = True

    kind: Literal["cake"] = Field(description="flow queueing with isolation of hosts and COBALT")
    limit: QueueLimit = Field(
        default=Limit(packets=6728),
        description="largest length; CAKE limits memory, with 2304 bytes for each full-size frame "
        "of 1514 bytes",
    )
    rtt: Duration = Field(
        default=0.1, description="the RTT for which it is tuned: COBALT's interval"
    )
    target: Duration | None = Field(
        default=None, description="the acceptable standing delay; a twentieth of `rtt` by default"
    )
    isolation: Isolation = Field(
        default="triple-isolate",
        description="which flows or hosts share the link fairly, as tc names them",
    )
    ack_filter: AckFilter = Field(
        default="off", description="drop ACKs that a later ACK makes redundant"
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_cake and what its one tin counts."""
        frame_bytes = _MEMORY_OF_A_FRAME_BYTES + max(0, sized.frame_bytes - FRAME_BYTES)
        memory_bytes = sized.packets * frame_bytes
        if memory_bytes > LIMIT_MAX:
            most = LIMIT_MAX // frame_bytes
            raise QueueFault("limit", f"a limit of {sized.packets} packets: at most {most}p")
        rtt_us = microseconds("rtt", self.rtt)
        target = self.target
        target_us = max(1, rtt_us // 20) if target is None else microseconds("target", target)
        return Qdisc(
            "cake",
            (
                Setting("shaper_bytes_per_s", (_RATE,), 0, "Q"),
                Setting("diffserv_mode", (_DIFFSERV,), _BEST_EFFORT),
                Setting("flow_mode", (_FLOW_MODE,), get_args(Isolation).index(self.isolation)),
                Setting("rtt_us", (_RTT,), rtt_us),
                Setting("target_us", (_TARGET,), target_us),
                Setting("memory_bytes", (_MEMORY,), memory_bytes),
                Setting("ack_filter", (_ACK_FILTER,), get_args(AckFilter).index(self.ack_filter)),
            ),
            (
                _tin("marks", "packets", _MARKED),
                _tin("ack_drops", "packets", _ACKS_DROPPED),
                _tin("delay_average", "us", _AVERAGE_DELAY),
                _tin("delay_peak", "us", _PEAK_DELAY),
            ),
        )


def _tin(name: str, unit: str, number: int) -> Statistic:
    return Statistic(name, unit, (((TCA_STATS2, TCA_STATS_APP, _TIN_STATS, 1, number), 0),))
