"""SFQ: stochastic fairness queueing, flows hashed to a few short queues served in turn."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from orchestrator.kinds.fields import QueueLimit, Time
from orchestrator.kinds.queues import Quantum, QueueFault, QueueSpec, SizedLimit
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.units import Limit

_MAX_DEPTH, _MAX_FLOWS = 127, 65408  # SFQ_MAX_DEPTH, SFQ_MAX_FLOWS
_LAST_WORD = 68  # struct tc_sfq_qopt_v1 has 72 bytes


class Sfq(QueueSpec):
    """Stochastic fairness queueing (McKenney 1990), as net/sched/sch_sfq.c does it.

    A packet that arrives when it is full replaces a packet of the longest queue.
    """

    drops_queued: ClassVar[bool] = True

    kind: Literal["sfq"] = Field(description="stochastic fairness queueing")
    limit: QueueLimit = Field(
        default=Limit(packets=127),
        description="largest number of packets in all queues together; other units are converted "
        "to full-size frames",
    )
    depth: int = Field(
        default=127, ge=1, le=_MAX_DEPTH, description="largest number of packets of one flow"
    )
    flows: int = Field(
        default=128,
        ge=1,
        le=_MAX_FLOWS,
        description="largest number of flows with packets at a time",
    )
    divisor: int = Field(
        default=1024, ge=1, le=65536, description="size of the hash table, a power of two"
    )
    quantum: Quantum | None = Field(
        default=None,
        description="bytes that a flow may send in its turn, 256B to 1MiB; a full-size frame by "
        "default",
    )
    perturb: Time = Field(
        default=0.0,
        description="period in whole seconds, up to 99 days, after which flows are hashed again; "
        "0s: never",
    )
    headdrop: bool = Field(
        default=False, description="drop a flow's oldest packet instead of its newest"
    )

    @field_validator("divisor")
    @classmethod
    def _power(cls, divisor: int) -> int:
        if divisor & (divisor - 1):
            raise ValueError("must be a power of two")
        return divisor

    @field_validator("perturb")
    @classmethod
    def _whole(cls, perturb_s: float) -> float:
        if perturb_s % 1 or perturb_s > 2**31 // 250:
            raise ValueError("the kernel takes whole seconds, up to 99 days")
        return perturb_s

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_sfq."""
        flows = min(self.flows, self.divisor)
        if not 2 <= sized.packets <= self.depth * flows:
            text = f"a limit of {sized.packets} packets: 2 to {self.depth * flows}, "
            raise QueueFault("limit", text + "which is `depth` times `flows` (within `divisor`)")
        settings = (
            Setting("quantum_bytes", (), self.quantum or sized.frame_bytes),
            Setting("perturb_s", (), int(self.perturb), offset=4),
            Setting("limit_packets", (), sized.packets, offset=8),
            Setting("divisor", (), self.divisor, offset=12),
            Setting("flows", (), self.flows, offset=16, reads=min(flows, sized.packets)),
            Setting("depth_packets", (), self.depth, offset=20),
            Setting("headdrop", (), int(self.headdrop), offset=24),
            Setting("end", (), 0, offset=_LAST_WORD, verified=False),
        )
        # sch_sfq has no way to change.
        return Qdisc("sfq", tuple(setting._replace(once=True) for setting in settings))
