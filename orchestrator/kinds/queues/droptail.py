"""Drop-tail: first in, first out; packets that arrive at a full queue are dropped."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.queues import QueueSpec, SizedLimit
from orchestrator.protocol.links.qdisc import Qdisc, Setting


class DropTail(QueueSpec):
    """First in, first out; packets that arrive at a full queue are dropped."""

    kind: Literal["droptail"] = Field(default="droptail", description="first in, first out")

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the kernel's fifo of exactly so many packets or bytes (net/sched/sch_fifo.c)."""
        if sized.limit_packets is not None:
            return Qdisc("pfifo", (Setting("limit_packets", (), sized.limit_packets),))
        return Qdisc("bfifo", (Setting("limit_bytes", (), sized.size_bytes),))
