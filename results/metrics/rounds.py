"""Rounds of incast: how long all answers of a round take together.

The n-th transfer of each flow of an entry belongs to its n-th round. A round lasts from its first
request to the last byte of its last answer, and belongs to the span in which it begins. Rounds that
are incomplete are left out. None of runs without incast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from results.metrics.base import RunData, Span, metric
from results.metrics.rtt import percentile

_KIND = "incast"


@metric("rounds_completed", unit="1", subject="flow", scopes=("run",))
def rounds_completed(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of rounds of incast that began within the span and were complete."""
    times_s = _round_times_s(data, flows, span)
    return None if times_s is None else len(times_s)


@metric("round_time_mean_s", unit="s", subject="flow", scopes=("run",))
def round_time_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean time of the complete rounds of incast that began within the span."""
    times_s = _round_times_s(data, flows, span)
    return float(times_s.mean()) if times_s is not None and len(times_s) else None


@metric("round_time_p50_s", unit="s", subject="flow", scopes=("run",))
def round_time_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330 11.3) of the times of complete rounds of incast."""
    times_s = _round_times_s(data, flows, span)
    return None if times_s is None else percentile(times_s, 0.50)


@metric("round_time_p99_s", unit="s", subject="flow", scopes=("run",))
def round_time_p99(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the times of complete rounds of incast."""
    times_s = _round_times_s(data, flows, span)
    return None if times_s is None else percentile(times_s, 0.99)


def _round_times_s(
    data: RunData, flows: Sequence[int], span: Span
) -> npt.NDArray[np.float64] | None:
    """Return the times of the complete rounds that began within the span."""
    by_entry: dict[str, list[int]] = {}
    for flow in flows:
        if data.flows[flow].traffic == _KIND:
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
    return np.concatenate(parts)
