"""When bulk flows with a number of bytes are complete, and when programs have ended."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.protocol.reports.outcomes import ENDED
from results.metrics.base import RunData, Span, TableColumn, metric


@metric(
    "completion_time_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    title="Completion time",
    columns=(TableColumn("tcp", 80, "completion time", in_text=False, where_not_zero=True),),
)
def completion_time(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Time from the start of a bulk flow with ``bytes`` until its receiver had read all of them.

    RFC 5166 section 2.2 (transfer times). It begins with the first packet of the handshake. Of a
    client program it is the time from its start to its end with the exit status 0. For flows that
    are complete within the span. None for others, such as flows that their ``stop`` or the network
    ended first.
    """
    flow = data.flows[flows[0]]
    if flow.outcome != ENDED or flow.ended_s is None:
        return None
    if flow.begun_s is not None:
        in_span = span.from_s <= flow.ended_s <= span.to_s
        return flow.ended_s - flow.begun_s if in_span else None
    if flow.traffic != "bulk":
        return None
    if flow.stop_s is not None and flow.ended_s >= flow.stop_s:
        return None
    return flow.ended_s - flow.start_s if span.from_s <= flow.ended_s <= span.to_s else None


@metric("exit_status", unit="1", subject="flow", scopes=("flow",))
def exit_status(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Exit status of a flow's client program (POSIX, wait()) that ended by itself within the span.

    None for other traffic, and for a program that a signal or the flow's end ended.
    """
    flow = data.flows[flows[0]]
    if flow.ended_s is None or not span.from_s <= flow.ended_s <= span.to_s:
        return None
    return flow.exit_status
