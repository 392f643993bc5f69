"""Queues and policers keep to their formulas: open-loop traffic in, counted drops and marks out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.queues import OPEN_LOOP, QUEUE

pytestmark = pytest.mark.guest

FRAME_BYTES = 1514


TWO_RTTS = """
version: 1
name: two-rtts
duration: 14s
warmup: 4s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 5ms, queue: {kind: droptail, limit: 80p}}
  groups:
    - {name: near, access: {delay: 2ms}}
    - {name: far, access: {delay: 20ms}}
flows:
  - {name: near, group: near, congestion: cubic}
  - {name: far, group: far, congestion: cubic}
  - {name: sparse, group: far, traffic: {kind: cbr, rate: 64kbit, packet_size: 200B}}
"""

# A queue that is filled once and then fed at the link's rate keeps its length.
CONSTANT = (
    "flows=[{name: fill, group: a, traffic: {kind: cbr, ecn: ect0, rate: 10gbit, bytes: 73600B}}, "
    "{name: keep, group: a, traffic: {kind: cbr, ecn: ect0, rate: 100%}}]"
)
KEPT_PACKETS = 50


@pytest.fixture
def open_loop(tmp_path: Path) -> Path:
    file = tmp_path / "open-loop.yaml"
    file.write_text(OPEN_LOOP, encoding="utf-8")
    return file


@pytest.fixture
def two_rtts(tmp_path: Path) -> Path:
    file = tmp_path / "two-rtts.yaml"
    file.write_text(TWO_RTTS, encoding="utf-8")
    return file


def bottleneck(document: dict[str, Any]) -> dict[str, Any]:
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    link = document["links"][0]
    assert (link["name"], link["direction"]) == ("bottleneck", "forward")
    return dict(link)


def samples(db: Path) -> dict[str, Any]:
    """The samples of the forward bottleneck's queue, with its statistics by name."""
    with Store.open_read_only(db) as store:
        run = store.load(store.resolve("last"))
        (queue,) = [q for q in run.queues if q.name == "bottleneck:forward:queue"]
        columns = run.queue_samples(queue.name)
    names = [name for name, _unit in queue.statistics]
    return {**columns, **{n: columns[f"statistic_{slot}"] for slot, n in enumerate(names)}}


def packets_between_picks(chance: float) -> float:
    """Mean number of packets from one that RED picks to the next, at a constant average.

    A pick comes behind ceil(U / p_b) packets, U uniform on [0, 1): the second of the methods of
    Floyd and Jacobson 1993, section 6, which spreads the picks evenly.
    """
    return sum(1 - packets * chance for packets in range(math.ceil(1 / chance)))


def test_red_marks_at_the_rate_of_its_formula(run: Run, open_loop: Path) -> None:
    red = "{kind: red, limit: 200p, min: 20p, max: 60p, probability: 20%, weight: 0.015625, "
    link = bottleneck(
        run(
            CONSTANT,
            f"{QUEUE}={red} ecn: true}}",
            "topology.bottleneck.rate=100mbit",
            "duration=1200ms",
            "warmup=200ms",
            scenario=open_loop,
        )
    )
    # One of those kept has just begun to leave when the next one comes.
    chance = 0.2 * (KEPT_PACKETS - 1 - 20) / (60 - 20)
    # 2100 marks: one standard deviation is 1.1%.
    assert link["mark_ratio"] == pytest.approx(1 / packets_between_picks(chance), rel=0.04)
    assert link["drops_packets"] == 0


def test_red_settles_where_it_drops_the_excess_rate(run: Run, open_loop: Path) -> None:
    """At 1.25 times the rate a fifth must go: five packets a drop are p_b = 1/9."""
    link = bottleneck(
        run(
            f"{QUEUE}={{kind: red, limit: 200p, min: 20p, max: 60p, probability: 20%, "
            "weight: 0.015625}",
            scenario=open_loop,
        )
    )
    assert packets_between_picks(1 / 9) == pytest.approx(5)
    expected = 20 + (1 / 9) / 0.2 * (60 - 20)
    measured = link["queue_delay_mean_s"] * 10e6 / 8 / FRAME_BYTES
    assert measured == pytest.approx(expected, rel=0.03)
    assert link["early_drops_packets"] == link["drops_packets"]
    assert link["loss_ratio"] == pytest.approx(0.2, rel=0.01)


def test_reds_average_decays_while_the_queue_is_empty(run: Run, open_loop: Path) -> None:
    """After a burst to the top, and a second of nothing, a packet finds no average left."""
    document = run(
        f"{QUEUE}={{kind: red, limit: 400p, min: 10p, max: 30p, weight: 0.002, probability: 50%}}",
        "flows=[{name: burst, group: a, traffic: {kind: cbr, rate: 1gbit, bytes: 588kB}}, "
        "{name: later, group: a, start: 2s, traffic: {kind: cbr, rate: 1mbit}}]",
        "duration=4s",
        "warmup=1500ms",
        scenario=open_loop,
    )
    assert bottleneck(document)["drops_packets"] == 0
    assert document["flows"][1]["loss_ratio"] == 0


def test_adaptive_red_adapts_its_probability_as_specified(
    run: Run, open_loop: Path, db: Path
) -> None:
    """Up by min(1%, p / 4) above the target, down to 0.9 p below, every 500 ms (net/red.h)."""
    bottleneck(
        run(
            CONSTANT,
            "flows.keep.stop=3s",
            f"{QUEUE}={{kind: ared, limit: 200p, min: 20p, max: 60p, weight: 0.015625, ecn: true}}",
            "duration=5s",
            "warmup=0s",
            scenario=open_loop,
        )
    )
    found = samples(db)
    probability = [int(value) for value in found["probability"]]
    steps = [n for n in range(1, len(probability)) if probability[n] != probability[n - 1]]
    assert probability[0] < 0.01 * 2**32
    assert len(steps) >= 9
    gaps_s = np.diff(found["time_ns"][steps]) / 1e9
    # A kernel timer of 125 ticks rings up to 8 ticks late.
    assert all(0.49 <= gap <= 0.54 for gap in gaps_s)
    for step in steps:
        before, after = probability[step - 1], probability[step]
        if found["time_ns"][step] < 3e9:
            assert after == before + min(round(0.01 * 2**32), before // 4)
        else:
            assert after == before // 10 * 9


def test_codels_drop_interval_follows_the_inverse_square_root(
    run: Run, open_loop: Path, db: Path
) -> None:
    bottleneck(
        run(
            f"{QUEUE}={{kind: codel}}",
            "flows.flow.traffic.rate=12mbit",
            "sample.queue=1ms",
            "duration=3s",
            "warmup=1s",
            scenario=open_loop,
        )
    )
    found = samples(db)
    dropped = found["drops"] - found["drops"][0]
    at_s = [found["time_ns"][np.argmax(dropped >= n)] / 1e9 for n in range(1, dropped[-1] + 1)]
    # A fifth too much fills 5 ms in 30 ms; then it waits an interval.
    assert at_s[0] == pytest.approx(0.03 + 0.1, abs=0.015)
    assert len(at_s) > 200
    # The kernel's square roots are right after a few (one step of Newton's each).
    expected_s = at_s[9] + np.cumsum(0.1 / np.sqrt(np.arange(10, len(at_s))))
    assert at_s[10:] == pytest.approx(expected_s, abs=0.004)


@pytest.mark.parametrize(("kind", "target_s"), [("codel", 0.005), ("pie", 0.015)])
def test_a_long_flow_keeps_codels_delay_near_the_target(
    run: Run, two_rtts: Path, kind: str, target_s: float
) -> None:
    only = "flows=[{name: near, group: near, congestion: cubic}]"
    link = bottleneck(run(only, f"{QUEUE}={{kind: {kind}}}", scenario=two_rtts))
    assert target_s * 0.5 < link["queue_delay_mean_s"] < target_s * 1.7
    assert link["utilisation"] > 0.97
    assert link["overflow_drops_packets"] == 0 < link["early_drops_packets"]


def test_pie_keeps_its_target_under_overload(run: Run, open_loop: Path) -> None:
    document = run(
        f"{QUEUE}={{kind: pie}}",
        "flows.flow.traffic.rate=11mbit",
        "duration=16s",
        "warmup=8s",
        scenario=open_loop,
    )
    link = bottleneck(document)
    # PIE sees a packet when the one before it begins to leave: a frame's time early.
    expected_s = 0.015 + FRAME_BYTES * 8 / 10e6
    stayed_s = document["flows"][0]["one_way_delay_mean_s"] - 0.003
    assert stayed_s == pytest.approx(expected_s, rel=0.08)
    assert link["early_drops_packets"] == link["drops_packets"]
    assert link["loss_ratio"] == pytest.approx(1 - 10 / 11, rel=0.03)


def test_pie_adapts_its_probability_as_specified(run: Run, open_loop: Path, db: Path) -> None:
    """By alpha (delay - target) each 20 ms while the delay is constant, less while it is small."""
    bottleneck(
        run(
            CONSTANT,
            f"{QUEUE}={{kind: pie, ecn: true}}",
            "sample.queue=1ms",
            "duration=1200ms",
            "warmup=0s",
            scenario=open_loop,
        )
    )
    found = samples(db)
    probability, delay_s = found["probability"] / 2**32, found["delay"] / 1e6
    steps = np.flatnonzero(np.diff(probability))
    # Five ticks: 15 ms are four, and a timer of the kernel's rings a tick later, never too early.
    assert set(np.round(np.diff(found["time_ns"][steps]) / 1e6)) == {20.0}
    # From 80 ms on all that leaves had found the queue filled; above 10% PIE drops, too.
    held = [n for n in steps if found["time_ns"][n] > 80e6 and probability[n] < 0.1]
    # A packet leaves the queue when those before it have been transmitted.
    expected_s = KEPT_PACKETS * FRAME_BYTES * 8 / 10e6
    assert delay_s[held] == pytest.approx(expected_s, abs=64e-6)
    scales = []
    for step in held:
        # RFC 8033 section 4.2, in the kernel: half below 10%, and a quarter of that each tenth.
        below = [
            limit for limit in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1) if probability[step] < limit
        ]
        scales.append(0.5 / 4 ** (len(below) - 1))
        grown = 0.125 * (delay_s[step] - 0.015) * scales[-1]
        assert probability[step + 1] - probability[step] == pytest.approx(grown, rel=1e-3)
    assert set(scales) >= {1 / 8, 1 / 2}
    assert len(held) > 40


@pytest.mark.parametrize(
    ("queue", "least_share"),
    [
        ("kind: droptail, limit: 80p", None),
        ("kind: fq_codel", 0.8),
        ("kind: fq_pie", 0.8),
        ("kind: fq, flow_limit: 80", 0.97),
        ("kind: sfq", 0.97),
        ("kind: cake", 0.8),
    ],
)
def test_flows_of_unequal_rtts_share_fairly_and_a_sparse_one_does_not_wait(
    run: Run, two_rtts: Path, queue: str, least_share: float | None
) -> None:
    # Flows that start at one time would meet the queue in step.
    document = run(f"{QUEUE}={{{queue}}}", "start_jitter=100ms", scenario=two_rtts)
    bottleneck(document)
    near, far, sparse = document["flows"]
    share = far["goodput_bps"] / near["goodput_bps"]
    waited_s = sparse["one_way_delay_max_s"] - 0.045
    if least_share is None:
        assert share < 0.7
        assert waited_s > 0.05
    else:
        assert least_share < share < 1 / least_share
        # Behind a frame in transmission and one that was already picked; its own 214 bytes count.
        assert waited_s < 2.5 * FRAME_BYTES * 8 / 10e6


@pytest.mark.parametrize(("isolation", "share"), [("triple-isolate", 1 / 2), ("flows", 1 / 4)])
def test_cake_shares_between_hosts_or_flows(
    run: Run, two_rtts: Path, isolation: str, share: float
) -> None:
    """Three flows of one host and one of another, each with more than it can get."""
    document = run(
        "flows=[{name: many, group: near, count: 3, traffic: {kind: cbr, rate: 7mbit}}, "
        "{name: one, group: far, traffic: {kind: cbr, rate: 7mbit}}]",
        f"{QUEUE}={{kind: cake, limit: 200p, isolation: {isolation}}}",
        "duration=4s",
        "warmup=1s",
        scenario=two_rtts,
    )
    bottleneck(document)
    received = [flow["goodput_bps"] for flow in document["flows"]]
    assert received[-1] / sum(received) == pytest.approx(share, rel=0.02)


def test_a_policer_passes_its_rate_without_delay(run: Run, open_loop: Path) -> None:
    document = run(
        "topology.bottleneck.policer={forward: {rate: 4mbit, burst: 15140B}}",
        "flows.flow.traffic.rate=8mbit",
        scenario=open_loop,
    )
    link, flow = bottleneck(document), document["flows"][0]
    assert link["utilisation"] * 10e6 == pytest.approx(4e6, rel=0.001)
    assert link["drops_packets"] == 0
    assert link["policer_drops_packets"] == flow["sent_packets"] - flow["received_packets"]
    expected_s = 0.003 + FRAME_BYTES * 8 / 10e6
    assert flow["one_way_delay_max_s"] == pytest.approx(expected_s, abs=20e-6)
    (check,) = [c for c in document["fidelity"]["checks"] if c["name"].startswith("policed_rate")]
    assert check["measured"] == pytest.approx(4e6, rel=0.005)
