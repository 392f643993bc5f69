"""Drops at a queue, and at a policer."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import Column, RunData, Span, metric, of_channel, queue_growth


@metric(
    "drops_packets",
    unit="packets",
    subject="link",
    scopes=("link",),
    columns=(Column("link", 20, "drops"),),
)
def drops_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets the queue dropped (of a link without a queue, its policer).

    The random loss of the link, which follows the queue, is not included.
    """
    return queue_growth(data, links[0], "drops", span)


@metric("policer_drops_packets", unit="packets", subject="link", scopes=("link",))
def policer_drops_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that exceeded the rate of the link's policer; None where it has none."""
    policers = of_channel(data, links[0], "policer")
    return queue_growth(data, policers[0], "drops", span) if policers else None
