"""Queueing disciplines of hosts: what Linux has in front of a network card.

Their limits count packets as a host makes them. With TSO these are super-packets, which wait here
whole. Only in fq_codel, which also drops packets that wait, they become frames before. So each
counts there as the frames that it has at most.
"""

from __future__ import annotations

from typing import ClassVar

from orchestrator.kinds.host import HostQdisc
from orchestrator.kinds.queues import QueueSpec, SizedLimit, app_statistic
from orchestrator.kinds.queues.droptail import DropTail
from orchestrator.kinds.queues.fq import Fq
from orchestrator.kinds.queues.fq_codel import FqCodel
from orchestrator.protocol.links.frames import DEFAULT_MTU_BYTES
from orchestrator.protocol.links.qdisc import Qdisc
from orchestrator.units import Limit

MOST_SUPER_PACKET_BYTES = 65_536
"""GSO_LEGACY_MAX_SIZE of include/linux/netdevice.h."""

_HEADERS_BYTES = 52
"""IPv4 and TCP with timestamps, in each frame of a super-packet."""

_FQ_PACKETS, _FQ_FLOW_PACKETS = 10_000, 100
"""Limits of sch_fq, of all flows and of one, as fq_init() of net/sched/sch_fq.c sets them."""

_FQ_CODEL_PACKETS = 10_240
"""As fq_codel_init() of net/sched/sch_fq_codel.c."""

_PFIFO_FAST_PACKETS = 1000
"""DEFAULT_TX_QUEUE_LEN of include/net/pkt_sched.h."""


class PacingFq(Fq):
    """sch_fq of a host: it paces what its sockets send, each at the rate that TCP tells it."""

    paces: ClassVar[bool] = True

    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the settings of sch_fq and what struct tc_fq_qd_stats counts."""
        made = super().qdisc(sized)
        return Qdisc(
            made.kind, made.settings, (*made.statistics, app_statistic("throttled", "", 24))
        )


def frames_of_packet(mtu_bytes: int = DEFAULT_MTU_BYTES) -> int:
    """Return how many frames a super-packet has at most."""
    return max(1, MOST_SUPER_PACKET_BYTES // (mtu_bytes - _HEADERS_BYTES))


def host_queue(name: HostQdisc, frames: int) -> QueueSpec | None:
    """Return a host's queue with the kernel's defaults, None where it has none of its own.

    ``frames`` is how many frames a packet of fq_codel's has at most. pfifo_fast is a FIFO here: its
    bands are for packets of several priorities.
    """
    match name:
        case "fq":
            limit = Limit(packets=_FQ_PACKETS)
            return PacingFq(kind="fq", limit=limit, flow_limit=_FQ_FLOW_PACKETS)
        case "fq_codel":
            return FqCodel(kind="fq_codel", limit=Limit(packets=_FQ_CODEL_PACKETS * frames))
        case "pfifo_fast":
            return DropTail(limit=Limit(packets=_PFIFO_FAST_PACKETS))
        case "none":
            return None
