"""Metrics of marks, early drops and policers, against values computed by hand."""

from __future__ import annotations

from dataclasses import replace

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


DUAL = queue(
    kind="dualpi2",
    statistics=(
        ("marks", "packets"),
        ("l_queue_enqueued", "packets"),
        ("classic_enqueued", "packets"),
        ("step_marks", "packets"),
    ),
)


def test_the_two_queues_of_dualpi2_are_counted_apart() -> None:
    rows = [
        sample(2.0, statistic_0=1, statistic_1=10, statistic_2=20, statistic_3=0),
        sample(10.0, statistic_0=8, statistic_1=110, statistic_2=70, statistic_3=3),
    ]
    expected = {
        "l_queue_packets": 100, "classic_queue_packets": 50, "step_marks_packets": 3,
        "marks_packets": 7,
    }  # fmt: skip
    found = of_link(rows, DUAL)
    assert {name: found[name] for name in expected} == expected
    assert compute(rows, DUAL).run["l_queue_packets"] == 100


def test_another_kind_has_no_l_queue() -> None:
    """Nor has DualPI2 of a run from before these were sampled."""
    before = replace(DUAL, statistics=DUAL.statistics[:1])
    names = ("l_queue_packets", "classic_queue_packets", "step_marks_packets")
    for known in (RED, before):
        assert [of_link(ROWS, known)[name] for name in names] == [None] * 3
        assert compute(ROWS, known).run["l_queue_packets"] is None


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
