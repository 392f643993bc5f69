"""Fairness between flows."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.recording.model import SENDER
from results.metrics.base import Column, RunData, Span, last_before, metric
from results.metrics.goodput import goodput

# include/net/tcp_states.h: the states of a sender whose every byte was acknowledged.
_DONE = (5, 6, 7)  # FIN_WAIT2, TIME_WAIT, CLOSE


@metric(
    "jain_index",
    unit="1",
    subject="flow",
    scopes=("run",),
    title="Jain's index",
    columns=(
        Column("run", 30, "Jain's index"),
        Column("runs", 30, "Jain's index"),
    ),
)
def jain_index(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Jain's fairness index of the bulk flows' goodputs: (sum x)^2 / (n sum x^2), 1/n to 1.

    R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984); RFC 5166 section 2.3. It includes all flows of
    bulk traffic that are scheduled within the span and had not sent all their bytes before. Group,
    direction and congestion control do not matter. A flow that a `window` limits is included, too:
    its lower goodput makes the index lower. Other kinds of traffic are not included. None when
    there are no such flows, when nothing arrived, or when one of them has no goodput.
    """
    rates = [goodput(data, [index], span) for index in flows if is_on(data, index, span)]
    known = [rate for rate in rates if rate is not None]
    squares = sum(rate * rate for rate in known)
    if len(known) < len(rates) or not squares:
        return None
    return sum(known) ** 2 / (len(known) * squares)


def is_on(data: RunData, index: int, span: Span) -> bool:
    """Return whether a flow is scheduled within the span and had not sent all its bytes before."""
    flow = data.flows[index]
    if flow.traffic != "bulk":
        return False
    if flow.start_s >= span.to_s or (flow.stop_s is not None and flow.stop_s <= span.from_s):
        return False
    columns = data.tcp_columns(index, SENDER)
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    # A flow has a sample at every edge while it exists. Without one in the span it has ended.
    return first is None or (first != last and int(columns["state"][first]) not in _DONE)
