"""Packets in the two queues of DualPI2 (RFC 9332), and what each was marked by."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, TableColumn, metric, sum_known
from results.metrics.marks import statistic_growth


@metric(
    "l_queue_packets",
    unit="packets",
    subject="link",
    scopes=("run", "link"),
    title="L-queue packets",
    columns=(TableColumn("link", 32, "to the L-queue", where_not_zero=True, in_text=False),),
)
def l_queue_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that DualPI2 took into the L-queue, of low latency (RFC 9332 section 2.4).

    The growth of packets_in_l of struct tc_dualpi2_xstats. Of a run the sum over the bottlenecks
    with such a queue. None for any other kind of queue, and of a run that was stored before this
    was sampled.
    """
    return _sum(data, links, span, "l_queue_enqueued")


@metric("classic_queue_packets", unit="packets", subject="link", scopes=("run", "link"))
def classic_queue_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets that DualPI2 took into the classic queue: the growth of packets_in_c.

    Of a run, and None, as of `l_queue_packets`.
    """
    return _sum(data, links, span, "classic_enqueued")


@metric("step_marks_packets", unit="packets", subject="link", scopes=("run", "link"))
def step_marks_packets(data: RunData, links: Sequence[int], span: Span) -> int | None:
    """Packets of the L-queue that were marked because it was longer than the step.

    The growth of step_marks of struct tc_dualpi2_xstats. The other ones of `marks_packets` are
    marked by the probability of the PI controller, in either queue. Of a run, and None, as of
    `l_queue_packets`.
    """
    return _sum(data, links, span, "step_marks")


def _sum(data: RunData, links: Sequence[int], span: Span, name: str) -> int | None:
    return sum_known([statistic_growth(data, link, name, span) for link in links])
