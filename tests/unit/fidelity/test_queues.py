"""Checks of queues that drop what they hold, of policers, and of probes that tell the rate only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.compile.probes import probes
from orchestrator.fidelity import check_burst, check_drops, check_policer, check_rate
from orchestrator.fidelity.evidence import Evidence
from orchestrator.planning.plan import plan
from orchestrator.recording.model import QUEUE_DTYPE, QueueRecord
from orchestrator.scenario import load
from tests.support.checks import QUICKSTART, burst, evidence, only, quiet, sample, ticks

POLICER = "topology.bottleneck.policer={forward: {rate: 4mbit, burst: 15140B}}"


def policed(rows: list[tuple[int, ...]], facts: list[dict[str, Any]] | None = None) -> Evidence:
    """Evidence about the quickstart's bottleneck with a policer, which is the third queue."""
    (run,) = plan(load(QUICKSTART, (POLICER,))).runs
    queues = [
        QueueRecord("q", "bottleneck", "forward", "queue", "droptail", True, rate_bps=10_000_000),
        QueueRecord("d", "bottleneck", "forward", "delay", "netem", False),
        QueueRecord("p", "bottleneck", "forward", "policer", "police", False, rate_bps=4_000_000),
    ]
    rows = [sample(0, number) for number in range(2)] + rows
    return Evidence(
        run.network, [*quiet(), *(facts or [])], [], queues, np.array(rows, dtype=QUEUE_DTYPE)
    )


def policer_ticks(rate_bps: float, drops: int = 3, count: int = 60) -> list[tuple[int, ...]]:
    """A policer sampled every 100 ms that lets ``rate_bps`` pass and drops in every interval."""
    return [
        sample(n * 100_000_000, 2, octets=int(n * rate_bps / 80), drops=n * drops)
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("rate_bps", "ok"), [(4e6, True), (4.03e6, True), (4.1e6, False), (3.9e6, None)]
)
def test_a_policers_rate_is_judged_while_it_drops(rate_bps: float, ok: bool | None) -> None:
    check = only(check_policer.check(policed(policer_ticks(rate_bps))))
    assert (check.name, check.ok) == ("policed_rate bottleneck:forward", ok)
    assert check.measured == pytest.approx(rate_bps, rel=1e-4)


def test_a_policer_that_dropped_nothing_is_no_doubt_and_one_that_hardly_did_is() -> None:
    assert list(check_policer.check(policed(policer_ticks(2e6, drops=0)))) == []
    assert list(check_policer.check(policed([]))) == []
    check = only(check_policer.check(policed(policer_ticks(4e6, count=5))))
    assert (check.name, check.ok, check.measured) == (
        "policed_rate bottleneck:forward", None, None,
    )  # fmt: skip
    assert check.detail.startswith("12 drops are too few")


def bursts(rate_bps: float = 4e6, held: int = 15_140, rounds: int = 90) -> dict[str, Any]:
    """What a policer lets pass of 19 frames each 15.14 ms, a third of them."""
    pause_ns, tokens, passed = 15_140_000, float(held), []
    for number in range(rounds):
        for place in range(19):
            if tokens >= 1514:
                tokens -= 1514
                passed.append([number, place, number * pause_ns, number * pause_ns + 5])
        tokens = min(tokens + rate_bps / 8 * pause_ns / 1e9, held)
    return {
        "fact": "policer", "channel": "bottleneck:forward", "rate_bps": 4_000_000,
        "frame_bytes": 1514,
        "burst_bytes": 15_140, "rounds": rounds, "came": 19 * rounds, "passed": passed,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fact", "burst_ok", "rate_ok"),
    [
        (bursts(), True, True),
        (bursts(rate_bps=3.9e6), True, False),
        (bursts(rate_bps=4.1e6), True, False),
        (bursts(held=12_000), False, True),
        (bursts(held=18_500), False, True),
    ],
)
def test_bursts_tell_a_policers_bucket_and_rate(
    fact: dict[str, Any], burst_ok: bool, rate_ok: bool
) -> None:
    burst_check, rate = check_policer.check(policed([], [fact]))
    assert [burst_check.name, rate.name] == [
        f"policer_{what} bottleneck:forward" for what in ("burst", "rate")
    ]
    assert (burst_check.ok, rate.ok) == (burst_ok, rate_ok)


def test_a_policer_that_lets_all_or_nothing_pass_fails_its_probe() -> None:
    open_ = bursts()
    open_["came"] = len(open_["passed"])
    for fact in (open_, {**bursts(), "passed": []}):
        check = only(check_policer.check(policed([], [fact])))
        assert (check.name, check.ok) == ("policer_rate bottleneck:forward", False)


def test_a_policer_that_was_measured_before_traffic_is_no_doubt() -> None:
    checks = list(check_policer.check(policed(policer_ticks(4e6, count=5), [bursts()])))
    assert [check.ok for check in checks] == [True, True]


@pytest.mark.parametrize(
    ("overrides", "probed"),
    [
        ((), ["bottleneck:forward"]),
        (("topology.groups.a.access.rate=3mbit", "topology.groups.b.access.rate=3mbit"), []),
        (("topology.bottleneck.queue.limit=9p",), []),
        (("topology.bottleneck.policer={reverse: {rate: 1mbit, burst: 9kB}}",),
         ["bottleneck:reverse"]),
    ],
)  # fmt: skip
def test_a_policer_is_probed_where_packets_come_faster_and_the_queue_holds_them(
    overrides: tuple[str, ...], probed: list[str]
) -> None:
    (run,) = plan(load(QUICKSTART, (POLICER, *overrides))).runs
    policers = probes(run)["policers"]
    assert [policer["channel"] for policer in policers] == probed
    for each in policers:
        assert each["packets"] * 1514 > 1.05 * each["burst_bytes"]
        assert 0 < each["pause_ns"] < each["burst_bytes"] * 8e9 / each["rate_bps"]


@pytest.mark.parametrize(
    ("rate_mbit", "limit", "probed"),
    [
        (20, 30, False),
        (20, 100, True),
        (20, 1000, True),
        (11, 60, True),
        (90, 1000, True),
        (500, 1000, False),
    ],
)
def test_what_passes_a_policer_faster_than_its_link_fits_into_the_queue(
    rate_mbit: int, limit: int, probed: bool
) -> None:
    policer = f"{{forward: {{rate: {rate_mbit}mbit, burst: 30kB}}}}"
    overrides = (f"bottleneck.policer={policer}", f"bottleneck.queue.limit={limit}p")
    (run,) = plan(load(QUICKSTART, [f"topology.{override}" for override in overrides])).runs
    policers = probes(run)["policers"]
    assert len(policers) == probed
    for each in policers:
        # The bucket holds 19 packets. It lets half of them pass in each further round.
        passing = 19 + 9 * (each["rounds"] - 1)
        assert passing >= 40
        duration_s = (each["rounds"] - 1) * each["pause_ns"] / 1e9
        sent = duration_s * 10e6 / (1514 * 8)
        assert passing - sent <= limit
        assert each["settle_ns"] / 1e9 >= passing * 1514 * 8 / 10e6


@pytest.mark.parametrize(
    "impairment", ["loss=90%", "loss={kind: markov, bad_loss: 60%}", "jitter=5ms", "reordering=1%"]
)
def test_bursts_are_those_of_a_link_without_impairments(impairment: str) -> None:
    """They bypass all impairments, so none is sent for packets that are lost or late."""
    overrides = (POLICER, *(f"topology.groups.{name}.access.{impairment}" for name in "ab"))
    (impaired,) = plan(load(QUICKSTART, overrides)).runs
    (plain,) = plan(load(QUICKSTART, (POLICER,))).runs
    assert any(link.forward.impaired for link in impaired.network.links)
    found, expected = probes(impaired), probes(plain)
    assert found["bursts"]
    assert found["policers"]
    assert (found["bursts"], found["policers"]) == (expected["bursts"], expected["policers"])


def test_a_burst_leaves_the_link_after_transmission_and_delay() -> None:
    def behind_ns(*overrides: str) -> dict[int, int]:
        (run,) = plan(load(QUICKSTART, overrides)).runs
        return {each["frame_bytes"]: each["behind_ns"] for each in probes(run)["bursts"]}

    def expected_ns(bit_ns: int, delay_ns: int) -> dict[int, int]:
        return {length: length * 8 * bit_ns + delay_ns for length in (1514, 50)}

    assert behind_ns() == expected_ns(100, 10_000_000)
    slow = ("topology.bottleneck.rate=1mbit", "topology.bottleneck.delay=3ms")
    assert behind_ns(*slow) == expected_ns(1000, 3_000_000)
    # An impaired link's delay is a part of what the burst bypasses.
    assert behind_ns("topology.bottleneck.loss=1%") == expected_ns(100, 0)


@pytest.mark.parametrize(("queue", "packets"), [("{limit: 100p}", 20), ("{kind: codel}", 8)])
def test_each_probed_queue_gets_a_few_small_frames(queue: str, packets: int) -> None:
    (run,) = plan(load(QUICKSTART, (f"topology.bottleneck.queue={queue}",))).runs
    full, few = probes(run)["bursts"]
    assert (few["channel"], few["source"]) == (full["channel"], full["source"])
    assert (few["packets"], few["rounds"], few["queue_packets"]) == (packets, 1, None)


def test_a_way_that_lets_nothing_pass_is_tried_a_few_times() -> None:
    """In the long run so little passes that the share left is none in floating point."""
    loss = "{kind: gilbert-elliott, to_bad: 50%, to_good: 1e-9}"
    (run,) = plan(load(QUICKSTART, (f"topology.bottleneck.loss={loss}",))).runs
    assert {trip["attempts"] for trip in probes(run)["round_trips"]} == {12}


def test_what_a_policer_drops_is_no_fault_of_the_emulation() -> None:
    assert only(check_drops.check(policed(policer_ticks(4e6)))).ok is True


@pytest.mark.parametrize(("kind", "told"), [("codel", False), ("pie", True)])
def test_dropped_packets_may_be_missing_from_a_queue_that_sheds_them(kind: str, told: bool) -> None:
    """130 kB would last the interval, unless 20 packets of them were dropped meanwhile."""
    rows = [(*row[:4], 20 * number, *row[5:]) for number, row in enumerate(ticks(10e6, 130_000))]
    found = check_rate.check(evidence([], rows, None, (f"topology.bottleneck.queue.kind={kind}",)))
    assert bool(list(found)) is told


def test_a_probe_that_did_not_overfill_tells_the_rate_only() -> None:
    short: dict[str, Any] = {**burst(frames=8), "queue_packets": None}
    check = only(check_burst.check(evidence([short])))
    assert (check.name, check.ok) == ("burst_rate bottleneck:forward", True)
