"""Drops at a queue and at a policer, and losses on the way behind the queue."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, TableColumn, metric, of_channel, queue_growth
from results.metrics.sojourn import sojourn_times


@metric(
    "drops_packets",
    unit="packets",
    subject="link",
    scopes=("link",),
    columns=(TableColumn("link", 20, "drops"),),
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


@metric("listed_losses_packets", unit="packets", subject="link", scopes=("link",))
def listed_losses_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that were lost behind the queue by their numbers (loss kind `list`).

    None where the link did not count at the edges of the span.
    """
    return _listed(data, links[0], span)


@metric(
    "impairment_losses_packets",
    unit="packets",
    least=None,  # a difference of counters that are read one after the other
    subject="link",
    scopes=("link",),
)
def impairment_losses_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that were lost behind the queue by chance, as netem counts its drops.

    0 for a link without impairments. None where losses by number cannot be told apart.
    """
    behind = of_channel(data, links[0], "delay")
    lost = queue_growth(data, behind[0], "drops", span) if behind else 0
    listed = _listed(data, links[0], span)
    return None if lost is None or listed is None else lost - listed


def _listed(data: RunData, link: int, span: Span) -> int | None:
    counted = sojourn_times(data, link, span)
    return None if counted is None else counted.lost_packets
