"""Times in queues as links count them, against values computed by hand and by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.protocol.links.link import MOST_BUCKETS, bucket_span_ns
from orchestrator.recording.model import SOJOURN_DTYPE, TOTAL
from results import metrics
from results.metrics.base import Span
from results.metrics.sojourn import sojourn_times
from results.records.model import WHOLE
from tests.support.metrics_flows import Data
from tests.support.recordings import queue

NAMES = tuple(f"queue_delay_{name}_s" for name in ("mean", "p50", "p95", "p99", "max"))
EDGES_S = (2.0, 5.0, 10.0)
"""The edges of the windows of ``head()`` behind the begin of traffic."""


def interval(end_s: float, waits_ns: list[int], **totals: int) -> list[tuple[int, ...]]:
    """Return the rows of an interval in which packets waited so long."""
    lows = [bucket_span_ns(index)[0] for index in range(MOST_BUCKETS)]
    buckets = np.searchsorted(lows, waits_ns, side="right") - 1
    counts = np.bincount(buckets) if waits_ns else np.zeros(0, np.int64)
    time_ns = round(end_s * 1e9)
    lost, aggregates = totals.get("lost", 0), totals.get("aggregates", 0)
    whole = (len(waits_ns), sum(waits_ns), max(waits_ns, default=0), aggregates, lost)
    return [
        (time_ns, 0, TOTAL, *whole),
        *((time_ns, 0, int(at), int(counts[at]), 0, 0, 0, 0) for at in np.flatnonzero(counts)),
    ]


def data(*intervals: list[tuple[int, ...]], **parts: Any) -> Data:
    rows = [row for each in intervals for row in each]
    return Data(sojourn=np.array(rows, SOJOURN_DTYPE), **parts)


def test_a_window_has_the_packets_of_its_intervals() -> None:
    """The whole is from 2 s to 10 s, the window from 0 s to 5 s."""
    run = data(
        interval(2.0, [1_000_000] * 3),
        interval(5.0, [2_000_000, 10_000_000], lost=2),
        interval(10.0, [0] * 7 + [800], lost=1),
    )
    windows = metrics.compute(run)
    whole, quiet = (windows[name].links["bottleneck:forward"] for name in (WHOLE, "quiet"))
    assert whole["queue_delay_mean_s"] == pytest.approx(12_000_800e-9 / 10, rel=1e-12)
    assert (whole["queue_delay_p50_s"], whole["queue_delay_max_s"]) == (0.0, 0.01)
    assert whole["listed_losses_packets"] == 3
    assert quiet["queue_delay_mean_s"] == pytest.approx(15_000_000e-9 / 5, rel=1e-12)
    assert quiet["queue_delay_p50_s"] == pytest.approx(0.001, rel=0.01)
    assert quiet["queue_delay_p95_s"] == quiet["queue_delay_max_s"] == 0.01
    assert quiet["listed_losses_packets"] == 2


def test_quantiles_are_within_a_percent() -> None:
    draw = np.random.default_rng(7)
    waits_ns = np.sort(draw.lognormal(14, 4, 3000).astype(np.int64)).tolist()
    run = data(*(interval(edge, waits_ns if edge == 5.0 else []) for edge in EDGES_S))
    found = sojourn_times(run, 0, Span(2.0, 10.0))
    assert found is not None
    for share in (0.001, 0.5, 0.95, 0.99, 0.9999, 1.0):
        exact = float(np.quantile(waits_ns, share, method="inverted_cdf")) / 1e9
        assert found.quantile_s(share) == pytest.approx(exact, rel=0.01, abs=4e-9), share
    assert found.quantile_s(1.0) == max(waits_ns) / 1e9


def test_a_queue_that_nothing_left_has_no_times() -> None:
    windows = metrics.compute(data(*(interval(edge, []) for edge in EDGES_S)))
    values = windows[WHOLE].links["bottleneck:forward"]
    assert [values[name] for name in NAMES] == [None] * 5
    assert values["listed_losses_packets"] == 0


def test_without_counts_the_times_are_estimated_from_samples() -> None:
    """1250 bytes take 1 ms at 10 Mbit/s, and 2500 bytes 2 ms."""
    rows = [
        {"time_s": 2.0, "backlog_bytes": 1250},
        {"time_s": 6.0, "backlog_bytes": 2500},
        {"time_s": 10.0, "backlog_bytes": 0},
    ]
    counted = [interval(edge, [5_000_000]) for edge in EDGES_S]
    split = [interval(edge, [5_000_000], aggregates=1) for edge in EDGES_S]
    for intervals, mean_s in (
        ([], 1e-3), (counted, 5e-3), (split, 1e-3), (counted[1:], 1e-3), (counted[:-1], 1e-3),
    ):  # fmt: skip
        windows = metrics.compute(data(*intervals, queue_rows=rows, queues=[queue()]))
        values = windows[WHOLE].links["bottleneck:forward"]
        assert values["queue_delay_mean_s"] == pytest.approx(mean_s), intervals
    parts = metrics.in_parts(
        data(*counted, queue_rows=rows, queues=[queue()]),
        metrics.METRICS["queue_delay_mean_s", "link"], 0, Span(2.0, 10.0), 2,
    )  # fmt: skip
    assert parts == pytest.approx([1.5e-3, 1e-3])


def test_losses_by_number_and_by_chance_are_told_apart() -> None:
    rows = [
        {"time_s": time_s, "queue": at, "drops": drops, "packets": 100}
        for time_s, drops in ((2.0, 0), (10.0, 9))
        for at in (0, 1)
    ]
    counted = [interval(edge, [0], lost=2) for edge in EDGES_S]
    queues = [queue(), queue(role="delay", rate_bps=None, loss=0.1)]
    values = metrics.compute(data(*counted, queue_rows=rows, queues=queues))[WHOLE].links
    forward = values["bottleneck:forward"]
    assert (forward["listed_losses_packets"], forward["impairment_losses_packets"]) == (4, 5)
    assert forward["drops_packets"] == forward["overflow_drops_packets"] == 9
    assert forward["early_drops_packets"] == 0
