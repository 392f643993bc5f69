"""Sizes a requested queue in the units of its qdisc.

A limit of n bdp is n x rate x propagation RTT of the flows whose data or ACKs cross the channel.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from orchestrator.kinds.queues import QueueSpec, SizedLimit
from orchestrator.network import Channel, Queue
from orchestrator.protocol.units import NS_PER_S
from orchestrator.units import LIMIT_MAX, Limit, format_rate, format_time


def sized_queue(spec: QueueSpec, channel: Channel, rtts_ns: set[int] | None) -> Queue:
    """Return the queue in the units that its qdisc counts; ValueError when it is not possible.

    The channel has a rate.
    """

    def measure(limit: Limit) -> SizedLimit:
        return _sized(limit, channel, rtts_ns)

    sized = replace(measure(spec.limit), measure=measure)
    qdisc = spec.qdisc(sized)
    counted = {setting.name: int(setting.value) for setting in qdisc.settings
               if setting.name in ("limit_packets", "limit_bytes")}  # fmt: skip
    if not counted:
        counted = {"limit_packets": sized.packets}
    return Queue(spec.kind, qdisc, **counted, drops_queued=spec.drops_queued)


def _sized(limit: Limit, channel: Channel, rtts_ns: set[int] | None) -> SizedLimit:
    rate_bps, frame_bytes = channel.rate_bps or 0, channel.frame_bytes
    if limit.packets is not None:
        return SizedLimit(rate_bps, limit_packets=limit.packets, frame_bytes=frame_bytes)
    if limit.size_bytes is not None:
        size_bytes, how = limit.size_bytes, ""
    elif limit.time_ns is not None:
        size_bytes = rate_bps * limit.time_ns // (8 * NS_PER_S)
        how = f" at {format_rate(rate_bps)}"
    else:
        if not rtts_ns:
            raise ValueError(
                f"a queue of {limit} needs the propagation RTT of a flow, and none crosses it"
            )
        rtt_ns = min(rtts_ns) if limit.smallest else max(rtts_ns)
        size_bytes = int((limit.bdp or Decimal(1)) * (rate_bps * rtt_ns) / (8 * NS_PER_S))
        how = (
            f" at {format_rate(rate_bps)} and a propagation RTT of {format_time(rtt_ns / NS_PER_S)}"
        )
    if size_bytes < frame_bytes:
        raise ValueError(
            f"a queue of {limit} holds {size_bytes} bytes{how}: "
            f"less than one full-size frame of {frame_bytes} bytes"
        )
    if size_bytes > LIMIT_MAX:
        raise ValueError(f"a queue of {limit} holds {size_bytes} bytes{how}: more than 2^32 - 1")
    return SizedLimit(rate_bps, limit_bytes=size_bytes, frame_bytes=frame_bytes)
