"""FQ-PIE: a queue for each flow, served in turn, each with PIE."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit
from orchestrator.kinds.queues import Quantum, QueueSpec, SizedLimit, app_statistic
from orchestrator.kinds.queues._pie import PieFields, pie_settings
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.units import Limit

_LIMIT, _FLOWS, _TARGET, _TUPDATE, _QUANTUM, _ECN_PROB, _ECN = 1, 2, 3, 4, 7, 9, 10  # TCA_FQ_PIE_*


class FqPie(PieFields, QueueSpec):
    """Flow queueing with PIE (M. P. Tahiliani's net/sched/sch_fq_pie.c): RFC 8290 with RFC 8033.

    The kernel's packet hash selects the queue, so two flows may share one.
    """

    kind: Literal["fq_pie"] = Field(description="flow queueing with PIE")
    limit: QueueLimit = Field(
        default=Limit(packets=10240),
        description="largest number of packets in all queues together; other units are converted "
        "to full-size frames",
    )
    flows: int = Field(
        default=1024, ge=1, le=65536, description="number of queues to which flows are hashed"
    )
    quantum: Quantum | None = Field(
        default=None,
        description="bytes that a flow may send in its turn; a full-size frame by default",
    )
    ecn_percent: int = Field(
        default=10,
        ge=0,
        le=100,
        description="up to this drop probability, in percent, ECN-capable packets are marked",
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_fq_pie and what struct tc_fq_pie_xstats counts."""
        return Qdisc(
            "fq_pie",
            (
                Setting("limit_packets", (_LIMIT,), sized.packets),
                Setting("flows", (_FLOWS,), self.flows, once=True),
                *pie_settings(self, _TARGET, _TUPDATE, _ECN),
                Setting("quantum_bytes", (_QUANTUM,), self.quantum or sized.frame_bytes),
                Setting("ecn_percent", (_ECN_PROB,), self.ecn_percent),
            ),
            (
                app_statistic("marks", "packets", 16),
                app_statistic("overflow_drops", "packets", 8),
                app_statistic("new_flows", "", 20),
                app_statistic("flows", "", 24, 28),
            ),
        )
