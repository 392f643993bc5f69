"""PIE: drops with a probability that a controller adapts to keep a delay (RFC 8033)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import QueueLimit
from orchestrator.kinds.queues import QueueSpec, SizedLimit, app_statistic
from orchestrator.kinds.queues._pie import PieFields, pie_settings
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.units import Limit

_TARGET, _LIMIT, _TUPDATE, _ECN = 1, 2, 3, 6  # TCA_PIE_*


class Pie(PieFields, QueueSpec):
    """Proportional integral controller enhanced (RFC 8033), as net/sched/sch_pie.c does it.

    ECN-capable packets are marked while the drop probability is at most 10%, and dropped above.
    """

    kind: Literal["pie"] = Field(description="proportional integral controller enhanced")
    limit: QueueLimit = Field(
        default=Limit(packets=1000),
        description="largest number of packets; other units are converted to full-size frames",
    )

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_pie and what struct tc_pie_xstats counts."""
        return Qdisc(
            "pie",
            (
                *pie_settings(self, _TARGET, _TUPDATE, _ECN),
                Setting("limit_packets", (_LIMIT,), sized.packets),
            ),
            (
                app_statistic("marks", "packets", 36),
                app_statistic("overflow_drops", "packets", 28),
                app_statistic("delay", "us", 8),
                app_statistic("probability", "2^-32", 4),
            ),
        )
