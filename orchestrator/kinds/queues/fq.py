"""FQ: a queue for each flow, served in turn, without any early drop."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit
from orchestrator.kinds.queues import Quantum, QueueSpec, SizedLimit, app_statistic
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.units import LIMIT_MAX, Limit

# TCA_FQ_*
_LIMIT, _FLOW_LIMIT, _QUANTUM, _INITIAL_QUANTUM, _RATE_ENABLE, _HASH_MASK = 1, 2, 3, 4, 5, 10


class Fq(QueueSpec):
    """Fair queueing by deficit round robin, as net/sched/sch_fq.c does it, without its pacing.

    Pacing is for a host's own sockets, and this is a router's queue. The first packets that find it
    empty, up to eight, form their own queue.
    """

    paces: ClassVar[bool] = False

    kind: Literal["fq"] = Field(description="fair queueing")
    limit: QueueLimit = Field(
        default=Limit(packets=10_000),
        description="largest number of packets in all queues together; other units are converted "
        "to full-size frames",
    )
    flow_limit: int = Field(
        default=100, ge=1, le=LIMIT_MAX, description="largest number of packets of one flow"
    )
    quantum: Quantum | None = Field(
        default=None,
        description="bytes that a flow may send in its turn, 256B to 1MiB; 2 full-size frames by "
        "default",
    )
    initial_quantum: Quantum | None = Field(
        default=None,
        description="bytes that a new flow may send in its first turn, 256B to 1MiB; 10 full-size "
        "frames by default",
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_fq and what struct tc_fq_qd_stats counts."""
        initial_bytes = self.initial_quantum or 10 * sized.frame_bytes
        return Qdisc(
            "fq",
            (
                Setting("limit_packets", (_LIMIT,), sized.packets),
                Setting("flow_limit_packets", (_FLOW_LIMIT,), self.flow_limit),
                Setting("quantum_bytes", (_QUANTUM,), self.quantum or 2 * sized.frame_bytes),
                Setting("initial_quantum_bytes", (_INITIAL_QUANTUM,), initial_bytes),
                Setting("pacing", (_RATE_ENABLE,), int(self.paces)),
                Setting("hash_mask", (_HASH_MASK,), LIMIT_MAX),
            ),
            (app_statistic("flow_limit_drops", "packets", 32),),
        )
