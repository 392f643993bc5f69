"""How long packets waited in a queue, as the link counted them: numbers of a window.

A link counts every packet that left its queue, in a histogram
(``orchestrator.protocol.links.link``). It is read at the edges of windows. So a window has numbers
that do not depend on what was sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orchestrator.protocol.links.link import bucket_span_ns
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import TOTAL
from results.metrics.base import RunData, Span
from results.metrics.regular import TOLERANCE_NS
from results.samples.sample_tables import Array


@dataclass(frozen=True)
class SojournTimes:
    """The packets whose transmission began in a span of time: their number, and their waits in s.

    ``buckets`` are indices of the histogram's buckets that are not empty, ``counts`` their packets.
    """

    packets: int
    sum_s: float
    largest_s: float
    lost_packets: int
    buckets: Array
    counts: Array

    @property
    def mean_s(self) -> float | None:
        """The mean, None without packets."""
        return self.sum_s / self.packets if self.packets else None

    def quantile_s(self, share: float) -> float | None:
        """Return a quantile (RFC 2330 11.3) within 1%, None without packets.

        Below 512 ns it is within 4 ns. Above 550 s it is the largest time.
        """
        if not self.packets:
            return None
        rank = max(math.ceil(share * self.packets), 1)
        position = int(np.searchsorted(np.cumsum(self.counts), rank))
        index = int(self.buckets[position])
        low, high = bucket_span_ns(index)
        last = position == len(self.buckets) - 1
        if last and rank == self.packets:
            return self.largest_s
        return min((low + high) / 2e9, self.largest_s) if index else 0.0


def sojourn_times(data: RunData, queue: int, span: Span) -> SojournTimes | None:
    """Return what the link counted in a span; None where it did not count, or not at its edges."""
    columns = data.sojourn_columns(queue)
    times_ns, totals = columns["time_ns"], columns["bucket"] == TOTAL
    read_ns = np.append(0, times_ns[totals])
    first_ns, last_ns = nanoseconds(span.from_s), nanoseconds(span.to_s)
    if any(np.abs(read_ns - edge_ns).min() > TOLERANCE_NS for edge_ns in (first_ns, last_ns)):
        return None
    chosen = (times_ns > first_ns + TOLERANCE_NS) & (times_ns <= last_ns + TOLERANCE_NS)
    whole, parts = chosen & totals, chosen & ~totals
    if columns["aggregates"][whole].any():
        return None
    counts = np.bincount(columns["bucket"][parts], columns["packets"][parts])
    buckets = np.flatnonzero(counts)
    return SojournTimes(
        int(columns["packets"][whole].sum()),
        int(columns["sum_ns"][whole].sum()) / 1e9,
        int(columns["largest_ns"][whole].max(initial=0)) / 1e9,
        int(columns["lost_packets"][whole].sum()),
        buckets,
        counts[buckets].astype(np.int64),
    )
