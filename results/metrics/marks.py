"""CE marks of queues, and their drops before and after they were full."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, TableColumn, metric, queue_growth
from results.metrics.utilisation import busiest


@metric(
    "marks_packets",
    unit="packets",
    subject="link",
    scopes=("link",),
    columns=(TableColumn("link", 30, "marks", where_not_zero=True),),
)
def marks_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets the queue marked CE (RFC 3168), as the kernel counts them.

    DualPI2 counts a packet twice that both its probability and its step mark; `ce_packets` has
    those that came. None for a kind of queue that does not mark.
    """
    return statistic_growth(data, links[0], "marks", span)


@metric(
    "mark_ratio",
    unit="1",
    subject="link",
    scopes=("run", "link"),
    shown_as="percent",
)
def mark_ratio(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Packets marked CE / packets that left the queue; of DualPI2 see `marks_packets`.

    Of a run that of its busiest forward bottleneck. None for a kind of queue that does not mark,
    or when no packet left.
    """
    link = busiest(data, links, span)
    if link is None:
        return None
    marks = statistic_growth(data, link, "marks", span)
    out = queue_growth(data, link, "packets", span)
    return None if marks is None or not out else marks / out


@metric("early_drops_packets", unit="packets", subject="link", scopes=("link",))
def early_drops_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that the queue's algorithm dropped although the queue was not full.

    RFC 7567 section 4.2 (active queue management). 0 for a drop-tail queue. None where the kind
    does not count them apart.
    """
    drops = queue_growth(data, links[0], "drops", span)
    overflow = _overflow_drops(data, links[0], span)
    return None if drops is None or overflow is None else drops - overflow


@metric("overflow_drops_packets", unit="packets", subject="link", scopes=("link",))
def overflow_drops_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets the queue dropped because it was full: all drops of a drop-tail queue.

    None where the kind does not count them apart.
    """
    return _overflow_drops(data, links[0], span)


def _overflow_drops(data: RunData, queue: int, span: Span) -> int | None:
    if data.queues[queue].kind == "droptail":
        return queue_growth(data, queue, "drops", span)
    return statistic_growth(data, queue, "overflow_drops", span)


def statistic_growth(data: RunData, queue: int, name: str, span: Span) -> int | None:
    """Return the growth of a statistic of the queue; None where its kind has no such statistic."""
    names = [known for known, _unit in data.queues[queue].statistics]
    if name not in names:
        return None
    return queue_growth(data, queue, f"statistic_{names.index(name)}", span)
