"""CoDel: drops packets while the minimum delay over an interval exceeds a target (RFC 8289)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit
from orchestrator.kinds.queues import QueueSpec, SizedLimit, app_statistic
from orchestrator.kinds.queues._codel import CodelFields, codel_settings
from orchestrator.protocol.links.qdisc import Qdisc
from orchestrator.units import Limit

_CE_THRESHOLD = 5  # TCA_CODEL_CE_THRESHOLD


class Codel(CodelFields, QueueSpec):
    """Controlled delay (RFC 8289), as net/sched/sch_codel.c does it.

    The kernel looks at a packet when the one before it begins to leave. So the delay that it
    controls does not include the packet's own transmission time.
    """

    drops_queued: ClassVar[bool] = True

    kind: Literal["codel"] = Field(description="controlled delay")
    limit: QueueLimit = Field(
        default=Limit(packets=1000),
        description="largest number of packets; other units are converted to full-size frames",
    )
    ecn: bool = Field(default=False, description="mark ECN-capable packets instead of dropping")

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_codel and what struct tc_codel_xstats counts."""
        return Qdisc(
            "codel",
            codel_settings(self, sized, self.ecn, _CE_THRESHOLD),
            (
                app_statistic("marks", "packets", 24, 32),
                app_statistic("overflow_drops", "packets", 20),
                app_statistic("delay", "us", 12),
                app_statistic("drop_count", "", 4),
            ),
        )
