"""Checks of loss, jitter, reordering, duplication and corruption on evidence made up for them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.fidelity import (
    check_base_rtt,
    check_corruption,
    check_drops,
    check_duplication,
    check_loss,
    check_reordering,
)
from orchestrator.protocol.links.netem import chance_threshold
from tests.support.checks import evidence, only, quiet, sample, trip

BOTTLENECK = "topology.bottleneck."
BASE_NS = 100_000_000


def asked(*overrides: str) -> tuple[str, ...]:
    return tuple(BOTTLENECK + override for override in overrides)


def spans(*counts: tuple[float, int, int]) -> list[dict[str, Any]]:
    """What the bed counted of the bottleneck under each independent loss."""
    told = [[{"loss_q32": chance_threshold(loss)}, *count, 0] for loss, *count in counts]
    return counted(told)


def counted(told: list[list[Any]]) -> list[dict[str, Any]]:
    """The fact of what the bed counted: [settings, packets, drops, packets ahead] each."""
    fact = {"fact": "timeline", "steps": 9, "netem_changes": {}}
    return [{**fact, "impairments": {"bottleneck:forward": told}}]


IDLE = [sample(0, number) for number in range(3)]


@pytest.mark.parametrize(
    ("good", "bad", "ok"),
    [
        ((50_000, 0), (1000, 100), True),
        ((50_000, 1), (1000, 100), False),  # Good loses nothing at all
        ((50_000, 0), (1000, 160), False),
        ((50_000, 0), (1000, 40), False),
        ((50_000, 0), (0, 0), True),
    ],
)
def test_a_loss_that_changes_is_judged_in_each_of_its_states(
    good: tuple[int, int], bad: tuple[int, int], ok: bool
) -> None:
    facts = spans((0.0, *good), (0.1, *bad))
    found = check_loss.check(
        evidence(facts, IDLE, overrides=asked("loss={kind: two-state, bad: 10ms}"))
    )
    assert only(found).ok is ok


def test_as_many_drops_in_the_wrong_state_are_seen() -> None:
    facts = spans((0.1, 1000, 0), (0.0, 50_000, 100))
    two_state = evidence(facts, IDLE, overrides=asked("loss={kind: two-state, bad: 10ms}"))
    assert only(check_loss.check(two_state)).ok is False


def test_a_loss_that_nobody_asked_for_is_seen() -> None:
    facts = spans((0.0, 50_000, 0), (0.05, 1000, 50))
    two_state = evidence(facts, IDLE, overrides=asked("loss={kind: two-state, bad: 10ms}"))
    assert only(check_loss.check(two_state)).ok is False


def test_a_link_that_is_down_loses_everything() -> None:
    for drops, ok in ((300, True), (299, False)):
        facts = spans((0.01, 10_000, 100), (1.0, 300, drops))
        check = only(check_loss.check(evidence(facts, IDLE, overrides=asked("loss=1%"))))
        assert check.ok is ok


@pytest.mark.parametrize(
    ("drops", "ok"), [(1000, True), (650, True), (1400, True), (300, False), (2000, False)]
)
def test_bursts_make_the_interval_of_drops_wide(drops: int, ok: bool) -> None:
    rows = [*IDLE, sample(9, 1, packets=100_000 - drops, drops=drops)]
    bursty = asked("loss={kind: gilbert-elliott, mean_loss: 1%, mean_burst: 4}")
    assert only(check_loss.check(evidence([], rows, overrides=bursty))).ok is ok
    independent = only(check_loss.check(evidence([], rows, overrides=asked("loss=1%"))))
    assert independent.ok is (drops == 1000)


def test_losses_of_duplicated_packets_are_not_counted() -> None:
    rows = [*IDLE, sample(9, 1, packets=95_000, drops=5000)]
    assert only(check_loss.check(evidence([], rows, overrides=asked("loss=10%")))).ok is False
    twice = asked("loss=10%", "duplication=50%")
    assert only(check_loss.check(evidence([], rows, overrides=twice))).ok is True


@pytest.mark.parametrize(
    ("override", "measured_ns", "ok"),
    [
        ("jitter=2ms", BASE_NS - 4_000_000, True),  # both ways
        ("jitter=2ms", BASE_NS + 4_000_000, True),
        ("jitter=2ms", BASE_NS - 4_100_000, False),
        ("jitter=2ms", BASE_NS + 4_100_000, False),
        ("jitter={forward: 2ms}", BASE_NS + 2_100_000, False),
        ("jitter={spread: 2ms, correlation: 1s}", BASE_NS + 1_000_000, False),
        ("reordering=10%", BASE_NS, True),
        ("reordering=10%", BASE_NS - 10_000_000, True),  # of 10 ms each way
        ("reordering=10%", BASE_NS - 20_000_000, True),
        ("reordering=10%", BASE_NS - 5_000_000, False),
        ("reordering={forward: 10%}", BASE_NS - 20_000_000, False),
    ],
)
def test_a_probe_may_take_what_jitter_and_skipped_delays_allow(
    override: str, measured_ns: int, ok: bool
) -> None:
    check = only(check_base_rtt.check(evidence([trip(measured_ns)], overrides=asked(override))))
    assert check.ok is ok
    assert check.measured == measured_ns / 1e9


def skipped(packets: int, requeues: int) -> list[tuple[int, ...]]:
    row = list(sample(9, 1, packets=packets))
    row[6] = requeues
    return [*IDLE, tuple(row)]


@pytest.mark.parametrize(
    ("override", "requeues", "ok"),
    [
        ("reordering=1%", 100, True),
        ("reordering=1%", 50, False),
        ("reordering=1%", 160, False),
        ("reordering={gap: 5}", 2000, True),
        ("reordering={gap: 5}", 1998, False),
        ("reordering={gap: 5, probability: 25%}", 1250, True),
        ("reordering={gap: 5, probability: 25%}", 1400, False),
    ],
)
def test_reordered_packets_are_counted(override: str, requeues: int, ok: bool) -> None:
    judged = evidence([], skipped(10_000, requeues), overrides=asked(override))
    assert only(check_reordering.check(judged)).ok is ok


def test_a_change_of_settings_may_cost_a_reordered_packet_of_a_gap() -> None:
    changes = {"netem_changes": {"bottleneck:forward": 2}, "impairments": {}}
    facts = [{"fact": "timeline", **changes}]
    judged = evidence(facts, skipped(10_000, 1998), overrides=asked("reordering={gap: 5}"))
    assert only(check_reordering.check(judged)).ok is True


@pytest.mark.parametrize(
    ("more", "drops", "override", "ok"),
    [
        (100, 0, "duplication=1%", True),
        (40, 0, "duplication=1%", False),
        (160, 0, "duplication=1%", False),
        (80, 2000, "duplication=1%", True),
        (0, 0, "duplication=1%", False),
    ],
)
def test_packets_that_became_more(more: int, drops: int, override: str, ok: bool) -> None:
    rows = [*IDLE, sample(9, 0, packets=10_000)]
    rows.append(sample(9, 1, packets=10_000 + more - drops, drops=drops))
    judged = evidence(quiet(), rows, overrides=asked(override))
    assert only(check_duplication.check(judged)).ok is ok


def q32(chance: float) -> int:
    return chance_threshold(chance)


@pytest.mark.parametrize(
    ("ahead", "ok"),
    [((0, 100, 2000), True), ((1, 100, 2000), False), ((0, 45, 2000), False),
     ((0, 100, 1997), False), ((0, 100, 2001), False)],
)  # fmt: skip
def test_a_reordering_that_changes_is_judged_by_itself(ahead: tuple[int, ...], ok: bool) -> None:
    settings: list[dict[str, int]] = [
        {"reorder_gap_packets": 0, "reorder_q32": 0},
        {"reorder_gap_packets": 1, "reorder_q32": q32(0.01)},
        {"reorder_gap_packets": 5, "reorder_q32": q32(1.0)},
    ]
    facts = counted([[one, 10_000, 0, n] for one, n in zip(settings, ahead, strict=True)])
    facts[0]["netem_changes"] = {"bottleneck:forward": 2}
    check = only(check_reordering.check(evidence(facts, IDLE)))
    assert (check.name, check.ok) == ("reordering bottleneck:forward", ok)
    assert "each of 3 settings by itself" in check.detail


@pytest.mark.parametrize(("more", "ok"), [(500, True), (370, False), (640, False), (0, False)])
def test_a_duplication_that_changes(more: int, ok: bool) -> None:
    """10 000 packets came under no duplication, 10 000 under one of 5%."""
    told = [[{"duplicate_q32": 0}, 10_000, 0, 0], [{"duplicate_q32": q32(0.05)}, 10_000, 0, 0]]
    told[1][1] = 10_000 + more
    judged = evidence(counted(told), [*IDLE, sample(9, 0, packets=20_000)])
    assert only(check_duplication.check(judged)).ok is ok


@pytest.mark.parametrize(("errors", "ok"), [(100, True), (15, False), (200, False)])
def test_a_corruption_that_changes(errors: int, ok: bool) -> None:
    told = [[{"corrupt_q32": 0}, 90_000, 0, 0], [{"corrupt_q32": q32(0.01)}, 10_000, 0, 0]]
    checksums = {"fact": "checksums", "at": "end", "errors": {"a_dst0": errors}}
    judged = evidence([*counted(told), checksums], IDLE)
    assert only(check_corruption.check(judged)).ok is ok


def test_without_a_queue_packets_are_counted_as_they_come_in() -> None:
    facts = quiet()
    for fact, count in ((facts[0], 500), (facts[-2], 10_500)):
        fact["interfaces"]["wires/w1a"] = {"rx_packets": count, "offloads": {}}
    rows = [*IDLE, sample(9, 2, packets=10_200)]
    judged = evidence(
        facts, rows, overrides=("topology.groups.a.access={delay: 1ms, duplication: 2%}",)
    )
    check = only(check_duplication.check(judged))
    assert (check.name, check.ok) == ("duplication a_src0:forward", True)


@pytest.mark.parametrize(("errors", "ok"), [(100, True), (80, True), (0, False), (200, False)])
def test_corruption_must_be_found_by_checksums(errors: int, ok: bool) -> None:
    facts = [{"fact": "checksums", "at": "end", "errors": {"a_dst0": errors, "b_dst0": 0}}]
    rows = [*IDLE, sample(9, 1, packets=10_000)]
    judged = evidence(facts, rows, overrides=asked("corruption=1%"))
    assert only(check_corruption.check(judged)).ok is ok


def test_interfaces_may_drop_what_was_corrupted() -> None:
    rows = [*IDLE, sample(9, 1, packets=10_000)]
    corrupting = asked("corruption=1%")
    for dropped, ok in ((3, True), (200, False)):
        facts = quiet(rx_dropped=dropped)
        assert only(check_drops.check(evidence(facts, rows, overrides=corrupting))).ok is ok
    softnet = evidence(quiet(softnet=1), rows, overrides=corrupting)
    assert only(check_drops.check(softnet)).ok is False
    assert only(check_drops.check(evidence(quiet(rx_dropped=3), rows))).ok is False


def test_nothing_is_said_of_what_is_not_asked() -> None:
    plain = evidence(quiet(), [*IDLE, sample(9, 1, packets=10)])
    for check in (check_reordering, check_duplication, check_corruption):
        assert list(check.check(plain)) == []
