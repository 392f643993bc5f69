"""Metrics of links and of the bottleneck, against values computed by hand."""

from __future__ import annotations

import pytest

from results import metrics
from results.records.model import WHOLE
from tests.support.metrics_flows import Data
from tests.support.metrics_links import compute, of_link, sample
from tests.support.recordings import flow, queue


def test_utilisation_is_of_rate_and_time() -> None:
    rows = [sample(2.0, bytes=1_000_000), sample(10.0, bytes=10_500_000)]
    found = compute(rows)
    assert found.links["bottleneck:forward"]["utilisation"] == pytest.approx(0.95)
    assert found.run["utilisation"] == pytest.approx(0.95)


def test_a_queues_counters_need_a_sample_before_the_span() -> None:
    rows = [sample(3.0, bytes=1_000_000, drops=3), sample(10.0, bytes=10_500_000, drops=5)]
    found = of_link(rows)
    assert (found["utilisation"], found["drops_packets"], found["loss_ratio"]) == (None, None, None)


def test_without_a_rate_there_is_no_utilisation_and_no_delay() -> None:
    rows = [sample(2.0), sample(10.0, bytes=5, drops=1, packets=3, backlog_bytes=9)]
    found = of_link(rows, queue(rate_bps=None))
    assert (found["utilisation"], found["queue_delay_mean_s"]) == (None, None)
    assert found["loss_ratio"] == 1 / 4


def test_drops_and_loss_of_a_queue() -> None:
    rows = [sample(2.0, drops=5, packets=100), sample(10.0, drops=15, packets=490)]
    found = of_link(rows)
    assert found["drops_packets"] == 10
    assert isinstance(found["drops_packets"], int)
    assert found["loss_ratio"] == 10 / 400


def test_loss_counts_the_loss_after_the_queue() -> None:
    rows = [
        sample(2.0), sample(2.0, 1),
        sample(10.0, drops=10, packets=90), sample(10.0, 1, drops=9, packets=81),
    ]  # fmt: skip
    found = of_link(rows, queue(), queue(role="delay", rate_bps=None, loss=0.1))
    assert found["loss_ratio"] == 19 / 100
    assert found["drops_packets"] == 10


def test_loss_of_no_packets_is_null() -> None:
    assert of_link([sample(2.0), sample(10.0)])["loss_ratio"] is None


def test_queue_delay_is_backlog_by_rate() -> None:
    backlogs = [(1.0, 999_999), (2.0, 0), (4.0, 12_500), (6.0, 25_000), (10.0, 12_500)]
    found = of_link([sample(time_s, backlog_bytes=size) for time_s, size in backlogs])
    assert found["queue_delay_mean_s"] == pytest.approx(0.01)
    assert found["queue_delay_p95_s"] == pytest.approx(0.02)


def test_the_runs_values_are_of_the_busiest_forward_bottleneck() -> None:
    queues = [
        queue("first"),
        queue("second"),
        queue("second", direction="reverse"),
        queue("access", bottleneck=False),
    ]
    ends = [1_000_000, 5_000_000, 9_000_000, 9_000_000]
    rows = [
        *(sample(2.0, index, backlog_bytes=1_250 * index) for index in range(4)),
        *(
            sample(10.0, index, bytes=size, drops=index, packets=10 - index)
            | {"backlog_bytes": 1_250 * index}
            for index, size in enumerate(ends)
        ),
    ]  # fmt: skip
    found = compute(rows, *queues)
    assert found.run["utilisation"] == 0.5
    assert found.run["loss_ratio"] == 0.1
    assert found.run["queue_delay_mean_s"] == 0.001
    assert set(found.links) == {
        "first:forward", "second:forward", "second:reverse", "access:forward",
    }  # fmt: skip


def test_a_link_that_data_cross_in_reverse_only_counts_in_reverse() -> None:
    queues = [
        queue("there"), queue("there", direction="reverse"),
        queue("back"), queue("back", direction="reverse"),
        queue("both"), queue("both", direction="reverse"),
    ]  # fmt: skip
    sizes = [1_000_000, 8_000_000, 500_000, 6_000_000, 2_000_000, 9_000_000]
    rows = [
        *(sample(2.0, index) for index in range(6)),
        *(sample(10.0, index, bytes=size) for index, size in enumerate(sizes)),
    ]
    flows = [
        flow("a", path=("there:forward", "back:reverse", "both:forward")),
        flow("b", path=("both:reverse",)),
    ]
    found = metrics.compute(Data(queue_rows=rows, queues=queues, flows=flows))[WHOLE].run
    assert found["utilisation"] == pytest.approx(0.6)  # back:reverse; all else is acknowledgements
