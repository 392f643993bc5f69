"""The links of a run's network, as they are stored with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.network import Channel, Link
from results.records import typed


@dataclass(frozen=True)
class ChannelSummary:
    """One direction of a link, as planned. ``loss`` is the mean share of packets."""

    rate_bps: int | None
    delay_s: float
    loss: float | None
    bottleneck: bool
    queue_kind: str | None
    limit_packets: int | None
    limit_bytes: int | None


@dataclass(frozen=True)
class LinkSummary:
    """A link between the nodes ``a`` and ``b``; forward is from ``a`` to ``b``."""

    name: str
    a: str
    b: str
    forward: ChannelSummary
    reverse: ChannelSummary

    def document(self) -> dict[str, object]:
        """Return the link, JSON-ready."""
        return {**vars(self), "forward": vars(self.forward), "reverse": vars(self.reverse)}


def summarise_links(links: Iterable[Link]) -> list[LinkSummary]:
    """Return the links of a network."""
    return [
        LinkSummary(link.name, link.a, link.b, _summarise(link.forward), _summarise(link.reverse))
        for link in links
    ]


def _summarise(channel: Channel) -> ChannelSummary:
    queue = channel.queue
    return ChannelSummary(
        channel.rate_bps,
        channel.delay_s,
        channel.mean_loss,
        channel.is_bottleneck,
        queue.kind if queue else None,
        queue.limit_packets if queue else None,
        queue.limit_bytes if queue else None,
    )


def read(text: str) -> tuple[LinkSummary, ...]:
    """Return links of their stored JSON.

    Raises:
        Exception: one of ``typed.DECODING_ERRORS`` when it cannot have been stored.
    """
    return tuple(
        typed.make(
            LinkSummary,
            {
                **link,
                "forward": typed.make(ChannelSummary, link["forward"]),
                "reverse": typed.make(ChannelSummary, link["reverse"]),
            },
        )
        for link in json.loads(text)
    )
