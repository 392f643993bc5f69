"""Conservation of packets on readings made up for the quickstart: each place that loses some."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from orchestrator.fidelity import check_conservation
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from tests.support.checks import QUICKSTART, evidence, only, sample
from tests.support.recordings import flow

NETWORK = plan(load(QUICKSTART)).runs[0].network
CHANNELS = [f"{link.name}:{way}" for link in NETWORK.links for way in ("forward", "reverse")]
MACHINE = {
    "fact": "host", "node": "here", "cpu": 0, "cpus": 2, "wakeups": 9, "missed": 0,
    "late_ns": {"p99": 1, "max": 1},
    "seconds": [{"late_ns": 1, "own": 0.0, "others": 0.0, "steal": 0.0, "softirq": 0.0}],
}  # fmt: skip


def reading(at: str, count: int) -> dict[str, Any]:
    """Readings where each channel passed ``count`` packets, and drops and waiting packets of it."""
    passed = {
        "sent": count, "entered": count, "exited": count, "received": count,
        "queue": [count, 0, 0], "delay": [count, 0, 0],
    }  # fmt: skip
    host = {"ip": count, "transport": count, "twice": 0, "delivered": count}
    return {
        "fact": "packets",
        "at": at,
        "channels": {channel: copy.deepcopy(passed) for channel in CHANNELS},
        "hosts": {host_name: dict(host) for host_name in NETWORK.hosts},
    }


def readings() -> tuple[dict[str, Any], dict[str, Any]]:
    return reading("start", 100), reading("end", 10_100)


def judged(*facts: dict[str, Any], overrides: tuple[str, ...] = (), packets: int = 0) -> Any:
    rows = [sample(0, number) for number in range(3)] + [sample(9, 1, packets=packets)]
    found = evidence(list(facts), rows, overrides=overrides)
    return only(check_conservation.check(found))


def test_packets_that_are_all_accounted_for_pass() -> None:
    found = judged(*readings())
    assert (found.name, found.ok, found.measured) == ("conservation", True, 0)
    assert found.detail == "64 places"


@pytest.mark.parametrize(("engine", "more", "ok"), [
    ("bulk", -9, False), ("program", -9, True), ("program", 9, False),
])  # fmt: skip
def test_a_program_may_send_datagrams_that_its_host_cuts(engine: str, more: int, ok: bool) -> None:
    start, end = readings()
    end["hosts"]["a_src0"]["transport"] += more
    sent = dataclasses.replace(flow("web"), engine=engine, source="a_src0", sink="a_dst0")
    found = evidence([start, end], [sample(0, number) for number in range(3)], [sent])
    assert only(check_conservation.check(found)).ok is ok


def test_dropped_and_waiting_packets_are_not_missing() -> None:
    start, end = readings()
    last = end["channels"]["a_dst0:forward"]
    last["queue"], last["delay"] = [10_060, 30, 10], [10_040, 15, 5]
    last["exited"] = last["received"] = end["hosts"]["a_dst0"]["delivered"] = 10_040
    assert judged(start, end).ok is True
    last["queue"][2] -= 1
    assert judged(start, end).detail == (
        "1 missing at a_dst0:forward, queue; wrong at 1 of 64 places"
    )


@pytest.mark.parametrize(
    ("place", "key", "more", "where"),
    [
        ("channels", "bottleneck:forward/entered", -7, "7 missing at bottleneck:forward, way in"),
        ("channels", "bottleneck:forward/exited", -7, "bottleneck:forward, last device"),
        ("channels", "bottleneck:forward/exited", 7, "7 too many at bottleneck:forward, last"),
        ("channels", "bottleneck:forward/received", -7, "bottleneck:forward, way out"),
        ("hosts", "a_src0/transport", 7, "7 missing at a_src0, sending"),
        ("hosts", "a_src0/ip", 7, "7 missing at a_src0, sending by IP"),
        ("hosts", "a_src0/delivered", -1, "1 missing at a_src0, receiving"),
    ],
)
def test_each_place_is_named_by_which_packets_are_missing(
    place: str, key: str, more: int, where: str
) -> None:
    start, end = readings()
    name, _slash, counter = key.rpartition("/")
    end[place][name][counter] += more
    found = judged(start, end)
    assert found.ok is False
    assert where in found.detail


def test_frames_count_where_a_link_cuts_super_packets() -> None:
    start, end = readings()
    first = end["channels"]["a_src0:forward"]
    start["channels"]["a_src0:forward"]["super_packets"] = [0, 0, 0]
    first["sent"] = first["entered"] = 10_100 - 600
    first["super_packets"] = [400, 1000, 0]
    assert judged(start, end).ok is True
    first["super_packets"] = [400, 999, 0]
    assert "too many at a_src0:forward, queue" in judged(start, end).detail
    first["super_packets"] = [400, 1001, 0]
    assert "1 missing at a_src0:forward, queue" in judged(start, end).detail


def test_frames_of_a_receive_ring_are_delivered_dropped_or_wait() -> None:
    start, end = readings()
    start["channels"]["a_dst0:forward"]["ring"] = [100, 0, 0]
    last = end["channels"]["a_dst0:forward"]
    last["ring"] = [10_060, 25, 15]
    last["exited"] = last["received"] = end["hosts"]["a_dst0"]["delivered"] = 10_060
    assert judged(start, end).ok is True
    last["ring"] = [10_060, 25, 14]
    assert "1 missing at a_dst0:forward, ring" in judged(start, end).detail
    last["ring"] = [10_061, 25, 14]
    assert "1 missing at a_dst0:forward, last device" in judged(start, end).detail


def test_fewer_buffers_than_packets_are_no_fault() -> None:
    start, end = readings()
    end["hosts"]["a_src0"]["ip"] -= 5000
    assert judged(start, end).ok is True


@pytest.mark.parametrize(("twice", "ok"), [(3, True), (2, False)])
def test_retransmitted_syn_acks_may_count_twice(twice: int, ok: bool) -> None:
    start, end = readings()
    end["hosts"]["a_dst0"]["transport"] += 3
    end["hosts"]["a_dst0"]["twice"] = twice
    assert judged(start, end).ok is ok


def test_counters_of_32_bits_may_wrap() -> None:
    start, end = readings()
    for channel in CHANNELS:
        start["channels"][channel]["queue"][0] = 2**32 - 9_000
        end["channels"][channel]["queue"][0] = 1_000
    assert judged(start, end).ok is True
    end["channels"]["bottleneck:forward"]["queue"][0] = 999
    assert judged(start, end).ok is False


@pytest.mark.parametrize(("moved", "ok"), [(0, False), (6, False), (7, True)])
def test_packets_that_move_between_two_readings_are_excused(moved: int, ok: bool) -> None:
    start, end = readings()
    end["hosts"]["a_src0"]["transport"] += 7
    again = copy.deepcopy({key: end[key] for key in ("channels", "hosts")})
    again["hosts"]["a_src0"]["transport"] += moved
    assert judged(start, {**end, "again": again}).ok is ok


@pytest.mark.parametrize(("lost", "ok"), [(300, True), (301, False)])
def test_a_real_machine_may_have_a_batch_of_packets_between_two_devices(
    lost: int, ok: bool
) -> None:
    start, end = readings()
    end["hosts"]["a_src0"]["transport"] += lost
    found = judged(start, end, MACHINE)
    assert (found.ok, found.measured, found.tolerance) == (ok, lost, 300)


def test_corrupted_packets_may_end_at_switches_and_hosts_only() -> None:
    corrupting = ("topology.bottleneck.corruption=1%",)
    start, end = readings()
    end["hosts"]["a_dst0"]["delivered"] -= 5
    assert judged(start, end, overrides=corrupting, packets=10_000).ok is True
    assert judged(start, end).ok is False
    end["hosts"]["a_dst0"]["transport"] += 5
    assert judged(start, end, overrides=corrupting, packets=10_000).ok is False


def test_a_netem_that_duplicates_is_left_to_the_check_of_duplication() -> None:
    start, end = readings()
    end["channels"]["bottleneck:forward"]["delay"][1] += 50
    found = judged(start, end, packets=10_000)
    assert "50 too many at bottleneck:forward, delay;" in found.detail
    duplicating = ("topology.bottleneck.duplication=1%",)
    assert judged(start, end, overrides=duplicating, packets=10_000).ok is True


def test_runs_without_readings_yield_nothing() -> None:
    assert list(check_conservation.check(evidence())) == []
    assert list(check_conservation.check(evidence([reading("start", 1)]))) == []
