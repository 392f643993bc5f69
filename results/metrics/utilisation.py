"""Utilisation of links, and the bottleneck of a run's own metrics."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.recording.capacity import Capacity
from results.metrics.base import RunData, Span, TableColumn, metric, queue_growth


@metric(
    "utilisation",
    unit="1",
    subject="link",
    scopes=("run", "link"),
    averages=True,
    shown_as="percent",
    columns=(
        TableColumn("run", 10, "utilisation"),
        TableColumn("runs", 20, "utilisation"),
        TableColumn("link", 10, "utilisation"),
    ),
)
def utilisation(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Link-layer bytes that left the queue x 8 / (rate x time).

    RFC 5166 section 2.1 (link utilisation). A rate that changes is integrated over the time. Of a
    run the largest over its bottlenecks, each in the direction that data cross (forward where they
    cross both).
    """
    return max((value for _, value in _utilisations(data, links, span)), default=None)


def _utilisations(data: RunData, links: Sequence[int], span: Span) -> list[tuple[int, float]]:
    """Return (link, utilisation) for each link whose utilisation is known."""
    found = []
    for link in links:
        size = queue_growth(data, link, "bytes", span)
        capacity = Capacity.of(data.queues[link])
        room = 0.0 if capacity is None else float(capacity.bits(span.from_s, span.to_s))
        if size is not None and room:
            found.append((link, size * 8 / room))
    return found


def busiest(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Return the link of the largest utilisation; of one link, that link; None when unknown."""
    if len(links) == 1:
        return links[0]
    found = _utilisations(data, links, span)
    return max(found, key=lambda pair: pair[1])[0] if found else None
