"""Metrics of marks, early drops and policers, against values computed by hand."""

from __future__ import annotations

import pytest

from tests.support.metrics_links import compute, of_link, sample
from tests.support.recordings import queue

RED = queue(kind="red", statistics=(("marks", "packets"), ("overflow_drops", "packets")))
ROWS = [
    sample(2.0, drops=5, packets=100, statistic_0=40, statistic_1=2),
    sample(10.0, drops=25, packets=500, statistic_0=140, statistic_1=7),
]


def test_marks_and_drops_by_their_cause() -> None:
    metrics = of_link(ROWS, RED)
    assert (metrics["marks_packets"], metrics["mark_ratio"]) == (100, 100 / 400)
    assert (metrics["drops_packets"], metrics["early_drops_packets"]) == (20, 15)
    assert metrics["overflow_drops_packets"] == 5


def test_the_runs_mark_ratio_is_of_its_bottleneck() -> None:
    assert compute(ROWS, RED).run["mark_ratio"] == 100 / 400


def test_a_kind_that_counts_neither_says_nothing() -> None:
    metrics = of_link(ROWS, queue(kind="sfq"))
    names = ("marks_packets", "mark_ratio", "early_drops_packets", "overflow_drops_packets")
    assert [metrics[name] for name in names] == [None] * 4
    assert metrics["drops_packets"] == 20


def test_a_kind_that_marks_in_any_slot() -> None:
    cake = queue(kind="cake", statistics=(("ack_drops", "packets"), ("marks", "packets")))
    metrics = of_link(ROWS, cake)
    assert (metrics["marks_packets"], metrics["early_drops_packets"]) == (5, None)


def test_no_packets_have_no_mark_ratio() -> None:
    assert of_link([sample(2.0), sample(10.0)], RED)["mark_ratio"] is None


def test_a_policer_counts_beside_its_queue_and_in_the_loss() -> None:
    rows = [
        sample(2.0), sample(2.0, 1), sample(2.0, 2),
        sample(10.0, drops=10, packets=90),
        sample(10.0, 1, drops=9, packets=81),
        sample(10.0, 2, drops=100, packets=100),
    ]  # fmt: skip
    delay = queue(role="delay", rate_bps=None, loss=0.1)
    policer = queue(role="policer", kind="police", bottleneck=False)
    metrics = of_link(rows, queue(), delay, policer)
    assert (metrics["drops_packets"], metrics["policer_drops_packets"]) == (10, 100)
    assert metrics["loss_ratio"] == pytest.approx(119 / 200)
    unpoliced = [row for row in rows if row["queue"] < 2]
    assert of_link(unpoliced, queue(), delay)["policer_drops_packets"] is None


def test_a_link_with_a_policer_and_no_queue_has_metrics_too() -> None:
    rows = [sample(2.0), sample(10.0, drops=30, packets=90, bytes=9_500_000)]
    policer = queue(role="policer", kind="police", bottleneck=False)
    metrics = of_link(rows, policer)
    assert (metrics["policer_drops_packets"], metrics["loss_ratio"]) == (30, 0.25)
    assert metrics["utilisation"] == pytest.approx(0.95)
