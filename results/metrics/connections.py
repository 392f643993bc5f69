"""Connections of flows, and those that the network ended or that nobody answered."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, TableColumn, metric


@metric(
    "connections_failed",
    unit="1",
    subject="flow",
    scopes=("run", "flow"),
    columns=(
        TableColumn("run", 90, "connections failed", where_not_zero=True),
        TableColumn("runs", 90, "connections failed", where_not_zero=True),
        TableColumn("tcp", 90, "connections failed", where_not_zero=True),
        TableColumn("udp", 90, "connections failed", where_not_zero=True),
    ),
)
def connections_failed(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of connections that failed within the span; of a run the sum over its flows.

    They timed out, were reset, found their peer unreachable, or had no answer by the end of the run
    or of their flow. Those of the warm-up count in spans that begin with its end. An UDP flow
    counts as one connection, which fails with the first packet that the kernel refuses.
    """
    from_s = 0.0 if span.from_s == data.warmup_s else span.from_s
    last = span.to_s == data.duration_s
    return sum(
        from_s <= time_s < span.to_s or (last and time_s == span.to_s)
        for flow in flows
        for time_s in data.flows[flow].failed_s
    )


@metric("connections", unit="1", subject="flow", scopes=("run", "flow"))
def connections(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of TCP connections of flows that may have several; of a run the sum over its flows.

    The kernel reports each socket that it destroys, so connections between two samples count, too.
    They are those of the whole run, whatever the span. None for other flows.
    """
    counts = [data.flows[flow].connections for flow in flows]
    known = [count for count in counts if count is not None]
    return sum(known) if known and span.to_s == data.duration_s else None
