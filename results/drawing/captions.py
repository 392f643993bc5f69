"""What a drawing writes beside links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.network import Channel, Hop, Link, Policer
from orchestrator.units import format_rate, format_size

_MOST_QUEUES = 2
"""Different queues of the links of one box that are all written."""


@dataclass(frozen=True)
class MeasuredDrops:
    """What a run has measured, for a drawing on its page.

    Each queue's limit is then written, not only those of bottlenecks. ``drops_packets`` is by the
    name of a channel, such as ``bottleneck:forward``.
    """

    drops_packets: Mapping[str, int] = field(default_factory=dict)


def link_caption(link: Link, measured: MeasuredDrops | None) -> list[str]:
    """Return the caption of a link between routers."""
    own = [] if link.name in (f"{link.a}-{link.b}", f"{link.b}-{link.a}") else [link.name]
    return [*own, *caption([Hop(link, "forward")], [Hop(link, "reverse")], measured)]


def caption(
    forward: Sequence[Hop], reverse: Sequence[Hop], measured: MeasuredDrops | None
) -> list[str]:
    """Return the caption of equal links; an arrow marks values of one direction."""
    there, back = _summary(forward, measured), _summary(reverse, measured)
    common = [line for line in there if line in back]
    ahead = [f"→ {line}" for line in there if line not in back]
    return [*common, *ahead, *(f"← {line}" for line in back if line not in there)]


def _summary(hops: Sequence[Hop], measured: MeasuredDrops | None) -> list[str]:
    channels = [hop.channel for hop in hops]
    delays_ms = [1e3 * channel.delay_s for channel in channels]
    least, most = f"{min(delays_ms):.5g}", f"{max(delays_ms):.5g}"
    delay = f"{least}ms" if least == most else f"{least} to {most}ms"
    rates = sorted({channel.rate_bps for channel in channels if channel.rate_bps is not None})
    ends = dict.fromkeys([*rates[:1], *rates[-1:]])
    rate = " to ".join(format_rate(rate_bps) for rate_bps in ends)
    if any(channel.rate_is_mean or channel.later_rates for channel in channels):
        rate = f"~{rate}"
    lines = [f"{rate}, {delay}" if rate else delay]
    lines += _queues(channels, measured)
    losses = sorted({text for channel in channels if (text := _loss_text(channel))})
    policers = sorted({_policer_text(each.policer) for each in channels if each.policer})
    return lines + policers + losses + _drops(hops, measured)


def _queues(channels: Sequence[Channel], measured: MeasuredDrops | None) -> list[str]:
    shown = [
        channel
        for channel in channels
        if channel.is_bottleneck or (measured is not None and channel.queue is not None)
    ]
    texts = sorted({_queue_text(channel) for channel in shown})
    if measured is not None and len(texts) > _MOST_QUEUES:
        return [f"{len(texts)} different queues"]
    return texts


def _queue_text(channel: Channel) -> str:
    queue, rate_bps = channel.queue, channel.rate_bps
    if queue is None or rate_bps is None:
        return "queue"
    if queue.limit_packets is not None:
        limit, size_bytes = f"{queue.limit_packets}p", queue.limit_packets * channel.frame_bytes
    else:
        size_bytes = queue.limit_bytes or 0
        limit = format_size(size_bytes) if size_bytes else ""
    if not channel.is_bottleneck:  # it never fills, so its time says nothing
        return f"{queue.kind} {limit}"
    return f"{queue.kind} {limit} ({8e3 * size_bytes / rate_bps:.4g}ms)"


def _policer_text(policer: Policer) -> str:
    return f"policer {format_rate(policer.rate_bps)}, {format_size(policer.burst_bytes)}"


def _loss_text(channel: Channel) -> str:
    if channel.loss is not None and channel.loss.chosen is not None:
        return channel.loss.caption
    if not channel.mean_loss:
        return ""
    words = "loss" if channel.loss is None else channel.loss.caption
    return f"{words} {100 * channel.mean_loss:.3g}%"


def _drops(hops: Sequence[Hop], measured: MeasuredDrops | None) -> list[str]:
    drops = sum(measured.drops_packets.get(hop.name, 0) for hop in hops) if measured else 0
    return [f"{drops} {'drop' if drops == 1 else 'drops'}"] if drops else []
