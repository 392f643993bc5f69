"""FQ-CoDel: a queue for each flow, served in turn, each with CoDel (RFC 8290)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit
from orchestrator.kinds.queues import Quantum, QueueFault, QueueSpec, SizedLimit, app_statistic
from orchestrator.kinds.queues._codel import CodelFields, codel_settings
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.units import Limit

_FLOWS, _QUANTUM, _CE_THRESHOLD, _MEMORY_LIMIT = 5, 6, 7, 9  # TCA_FQ_CODEL_*
_MEMORY_OF_A_PACKET_BYTES = 4096
_DEFAULT_MEMORY_BYTES, _MOST_MEMORY_BYTES = 2**25, 2**31


class FqCodel(CodelFields, QueueSpec):
    """Flow queueing with controlled delay (RFC 8290), as net/sched/sch_fq_codel.c does it.

    The kernel's packet hash selects the queue, so two flows may share one. When the limit is
    reached, the longest queue loses half of its packets, up to 64.
    """

    drops_queued: ClassVar[bool] = True

    kind: Literal["fq_codel"] = Field(description="flow queueing with controlled delay")
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
    ecn: bool = Field(default=True, description="mark ECN-capable packets instead of dropping")

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_fq_codel and what struct tc_fq_codel_qd_stats counts."""
        memory_bytes = max(_DEFAULT_MEMORY_BYTES, sized.packets * _MEMORY_OF_A_PACKET_BYTES)
        if memory_bytes > _MOST_MEMORY_BYTES:
            most = _MOST_MEMORY_BYTES // _MEMORY_OF_A_PACKET_BYTES
            raise QueueFault("limit", f"a limit of {sized.packets} packets: at most {most}p, or "
                             "the kernel's limit on memory would come first")  # fmt: skip
        settings = (
            *codel_settings(self, sized, self.ecn, _CE_THRESHOLD),
            Setting("flows", (_FLOWS,), self.flows, once=True),
            Setting("quantum_bytes", (_QUANTUM,), self.quantum or sized.frame_bytes),
            Setting("memory_bytes", (_MEMORY_LIMIT,), memory_bytes),
        )
        statistics = (
            app_statistic("marks", "packets", 12, 28),
            app_statistic("overflow_drops", "packets", 8),
            app_statistic("new_flows", "", 16),
            app_statistic("flows", "", 20, 24),
        )
        return Qdisc("fq_codel", settings, statistics)
