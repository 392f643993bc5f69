"""Convergence to equal shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.sampling_schedule import DIGEST_NS
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import RECEIVER, FlowRecord
from results.metrics.base import RunData, Span, metric, within
from results.metrics.fairness import is_on
from results.metrics.regular import TOLERANCE_NS
from results.samples.received import received_bytes
from results.samples.sample_tables import Array, Columns

_DELTA = 0.1
_LEAST_INTERVAL_S = 1.0
_ROUND_TRIPS = 10


@metric("convergence_time_s", unit="s", subject="flow", scopes=("run",), title="Convergence time")
def convergence_time(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Time from the latest start of a bulk flow until the goodputs are 0.1-fair for the first time.

    The delta-fair convergence time of D. Bansal, H. Balakrishnan, S. Floyd, S. Shenker, "Dynamic
    Behavior of Slowly-Responsive Congestion Control Algorithms", SIGCOMM 2001; RFC 5166 section
    2.3. There two flows reach the shares (1 + delta) / 2 and (1 - delta) / 2. Here each of n flows
    has a share from (1 - 0.1) / n to (1 + 0.1) / n of the sum of their goodputs. A goodput is that
    over one second, or over ten of the longest base RTTs if that is more. The time ends where the
    first such interval begins, at a resolution of 100 ms. It counts from the beginning of
    the span if all flows had started before: a window gives the time after an event. The flows are
    those of Jain's index. None when there are fewer than two of them, when no link carries all of
    them, when one has no goodput, or when they do not converge within the span.
    """
    chosen = _chosen(data, flows, span)
    records = [data.flows[index] for index in chosen]
    receivers = [data.tcp_columns(index, RECEIVER) for index in chosen]
    if len(chosen) < 2 or not _share_a_link(records) or not all(map(_has_samples, receivers)):
        return None
    start_s = _start_s(records, span)
    interval_ns = nanoseconds(
        max(_LEAST_INTERVAL_S, *(_ROUND_TRIPS * flow.base_rtt_s for flow in records))
    )
    begins_ns = _begins_ns(receivers, nanoseconds(start_s), interval_ns, span)
    arrived = np.array(
        [
            _read_at(flow, columns, begins_ns + interval_ns) - _read_at(flow, columns, begins_ns)
            for flow, columns in zip(records, receivers, strict=True)
        ]
    )
    far = np.abs(arrived * len(chosen) - arrived.sum(axis=0)).max(axis=0)
    fair = (arrived.min(axis=0) > 0) & (far <= _DELTA * arrived.sum(axis=0))
    first = np.flatnonzero(fair)
    return (int(begins_ns[first[0]]) - nanoseconds(start_s)) / 1e9 if len(first) else None


def time_to_converge_s(data: RunData, span: Span) -> float | None:
    """Return how long the flows of a run had to converge, None where they never could."""
    chosen = _chosen(data, range(len(data.flows)), span)
    if len(chosen) < 2 or not _share_a_link([data.flows[index] for index in chosen]):
        return None
    return span.to_s - _start_s([data.flows[index] for index in chosen], span)


def _chosen(data: RunData, flows: Sequence[int], span: Span) -> list[int]:
    return [index for index in flows if is_on(data, index, span)]


def _start_s(flows: Sequence[FlowRecord], span: Span) -> float:
    """Return when the last of the flows had started."""
    return max((span.from_s, *(flow.start_s for flow in flows)))


def _has_samples(columns: Columns) -> bool:
    return bool(len(columns["time_ns"]))


def _share_a_link(flows: Sequence[FlowRecord]) -> bool:
    """Return whether a link carries all flows; paths over a real network have no known links."""
    paths = [set(flow.path) for flow in flows]
    return bool(set.intersection(*paths)) or not any(paths)


def _begins_ns(
    receivers: Sequence[Columns], start_ns: int, interval_ns: int, span: Span
) -> npt.NDArray[np.int64]:
    """Return when intervals begin that end within the span at a multiple of 100 ms, in ns."""
    times = [columns["time_ns"][within(columns["time_ns"], span)] for columns in receivers]
    ends_ns = np.unique(np.concatenate(times))
    begins: npt.NDArray[np.int64] = ends_ns[ends_ns % DIGEST_NS == 0] - interval_ns
    return np.maximum(begins[begins >= start_ns - TOLERANCE_NS], start_ns)


def _read_at(flow: FlowRecord, columns: Columns, times_ns: Array) -> Array:
    """Return the bytes that the application had read at each time; none before the first sample."""
    last = np.searchsorted(columns["time_ns"], times_ns + TOLERANCE_NS, side="right")
    read: Array = np.concatenate([[0], received_bytes(flow, columns)])[last]
    return read
