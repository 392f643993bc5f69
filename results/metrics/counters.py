"""SNMP counters of hosts as numbers of flows: growth over a span of time.

The kernel counts for a whole network namespace. So a counter is one of a flow where no other flow
of the same transport has an end in the namespace of the flow's host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from orchestrator.protocol.units import nanoseconds
from results.metrics.base import RunData, Span, growth
from results.metrics.regular import TOLERANCE_NS
from results.samples.sample_tables import Columns

End = Literal["source", "sink"]


def counted(
    data: RunData,
    flows: Sequence[int],
    span: Span,
    names: Sequence[str],
    ends: Sequence[End] = ("source",),
    transports: Sequence[str] = ("tcp",),
) -> int | None:
    """Return the growth of counters at the flows' hosts, summed over hosts and counters.

    Args:
        data: the run.
        flows: indices of flows.
        span: a span between edges of windows, where hosts are read.
        names: of counters, without "TcpExt:" but with the name of any other line, as in "Tcp:".
        ends: whose hosts, of the flows' ends.
        transports: those of which the counters are; other flows do not count.

    None without such a flow, where another such flow shares a namespace with them, where the kernel
    has none of the counters, and of a run that was stored without counters.
    """
    everyone = {index for index, flow in enumerate(data.flows) if flow.transport in transports}
    chosen = everyone & set(flows)
    hosts = namespaces(data, chosen, ends)
    if not chosen or not hosts or not is_between_edges(data, span):
        return None
    if hosts & namespaces(data, everyone - chosen, ("source", "sink")):
        return None
    return grown(data, hosts, span, names)


def namespaces(data: RunData, flows: set[int], ends: Sequence[End]) -> set[int]:
    """Return the numbers of the namespaces of the flows' hosts; none where nothing was counted."""
    place_of = data.counter_names.place_of
    hosts = {getattr(data.flows[flow], end) for flow in flows for end in ends}
    return {place_of[host] for host in hosts if host in place_of}


def grown(data: RunData, hosts: set[int], span: Span, names: Sequence[str]) -> int | None:
    """Return the growth of counters of namespaces; None where the kernel has none of them."""
    number_of = data.counter_names.number_of
    full = [name if ":" in name else f"TcpExt:{name}" for name in names]
    numbers = [number_of[name] for name in full if name in number_of]
    if not numbers:
        return None
    return sum(
        _growth(data.counter_columns(host), number, span) for host in hosts for number in numbers
    )


def _growth(columns: Columns, number: int, span: Span) -> int:
    """Return the growth of a counter of a host, 0 where it has no rows."""
    order = columns.derived(
        "by counter", lambda: np.argsort(columns["counter"], kind="stable").astype(np.int64)
    )
    counters = columns.derived("counters in order", lambda: columns["counter"][order])
    first, last = np.searchsorted(counters, [number, number + 1]).tolist()
    rows = order[first:last]
    return growth(columns["time_ns"][rows], columns["value"][rows], span)


def is_between_edges(data: RunData, span: Span) -> bool:
    """Tell whether hosts were read at both ends of the span in every run, whatever it samples."""
    windows = (edge for window in data.windows for edge in (window.from_s, window.to_s))
    edges_ns = {nanoseconds(edge) for edge in (0.0, data.warmup_s, *windows, data.duration_s)}
    return all(
        min(abs(nanoseconds(edge) - known) for known in edges_ns) <= TOLERANCE_NS
        for edge in (span.from_s, span.to_s)
    )
