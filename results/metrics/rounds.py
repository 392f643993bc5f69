"""Rounds of incast, and queries of RPC: how long all answers of one take together.

The n-th transfer of each flow of an entry belongs to its n-th round. A round lasts from its first
request to the last byte of its last answer, and belongs to the span in which it begins. Rounds that
are incomplete are left out. None of runs without such traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from results.metrics.base import RunData, Span, metric
from results.metrics.rtt import percentile

INCAST, RPC = "incast", "rpc"

_Times = npt.NDArray[np.float64]


@metric("rounds_completed", unit="1", subject="flow", scopes=("run",))
def rounds_completed(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of rounds of incast that began within the span and were complete."""
    return _of_rounds(INCAST, len, data, flows, span)


@metric("round_time_mean_s", unit="s", subject="flow", scopes=("run",))
def round_time_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean time of the complete rounds of incast that began within the span."""
    return _of_rounds(INCAST, _mean, data, flows, span)


@metric("round_time_p50_s", unit="s", subject="flow", scopes=("run",))
def round_time_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330 11.3) of the times of complete rounds of incast."""
    return _of_rounds(INCAST, _p50, data, flows, span)


@metric("round_time_p99_s", unit="s", subject="flow", scopes=("run",))
def round_time_p99(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the times of complete rounds of incast."""
    return _of_rounds(INCAST, _p99, data, flows, span)


@metric("queries_completed", unit="1", subject="flow", scopes=("run",))
def queries_completed(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of queries of RPC that began within the span and had all their answers."""
    return _of_rounds(RPC, len, data, flows, span)


@metric("query_time_mean_s", unit="s", subject="flow", scopes=("run",))
def query_time_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean query completion time (QCT) of RPC: from a query to the last byte of its last answer.

    Of queries that began within the span. M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM
    2010, section 4.2.
    """
    return _of_rounds(RPC, _mean, data, flows, span)


@metric("query_time_p50_s", unit="s", subject="flow", scopes=("run",))
def query_time_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330 11.3) of the query completion times of RPC."""
    return _of_rounds(RPC, _p50, data, flows, span)


@metric("query_time_p99_s", unit="s", subject="flow", scopes=("run",))
def query_time_p99(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the query completion times of RPC."""
    return _of_rounds(RPC, _p99, data, flows, span)


def _mean(times_s: _Times) -> float | None:
    return float(times_s.mean()) if len(times_s) else None


def _p50(times_s: _Times) -> float | None:
    return percentile(times_s, 0.50)


def _p99(times_s: _Times) -> float | None:
    return percentile(times_s, 0.99)


T = TypeVar("T")


def _of_rounds(
    kind: str,
    summarise: Callable[[_Times], T],
    data: RunData,
    flows: Sequence[int],
    span: Span,
) -> T | None:
    """Return a summary of the times of the complete rounds that began within the span."""
    by_entry: dict[str, list[int]] = {}
    for flow in flows:
        if data.flows[flow].traffic == kind:
            by_entry.setdefault(data.entries[flow], []).append(flow)
    if not by_entry:
        return None
    parts = [np.empty(0)]
    for members in by_entry.values():
        columns = [data.transfer_columns(flow) for flow in members]
        number = min(len(one["start_ns"]) for one in columns)
        starts = np.min([one["start_ns"][:number] for one in columns], axis=0)
        ends = np.max([one["end_ns"][:number] for one in columns], axis=0)
        chosen = (starts >= nanoseconds(span.from_s)) & (starts < nanoseconds(span.to_s))
        chosen &= ~np.isnan(ends)
        parts.append((ends[chosen] - starts[chosen]) / 1e9)
    return summarise(np.concatenate(parts))
