"""Drops at a queue."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, metric, queue_growth


@metric("drops_packets", unit="packets", subject="link", scopes=("link",))
def drops_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets the queue dropped; independent loss, which comes after the queue, is not in it."""
    return queue_growth(data, links[0], "drops", span)
