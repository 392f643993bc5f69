"""Each check of fidelity on evidence made up for it: what passes, fails, or cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.execution.samples_plan import samples_plan
from orchestrator.fidelity import (
    check_base_rtt,
    check_burst,
    check_congestion,
    check_drops,
    check_hosts,
    check_interrupts,
    check_loss,
    check_offloads,
    check_rate,
    check_settings,
    check_super_packets,
    check_window,
    judge,
)
from orchestrator.planning.plan import plan
from orchestrator.recording.model import Check, FlowRecord
from orchestrator.scenario import load
from tests.support.checks import (
    BEHIND_NS,
    FRAME_NS,
    QUICKSTART,
    burst,
    evidence,
    only,
    quiet,
    sample,
    small,
    state,
    ticks,
    trip,
)


@pytest.mark.parametrize(
    ("measured_ns", "ok"),
    [(100_000_000, True), (100_020_000, True), (100_020_001, False), (99_000_000, False)],
)
def test_base_rtt_is_judged_by_the_trip_farthest_off(measured_ns: int, ok: bool) -> None:
    check = only(check_base_rtt.check(evidence([trip(100_000_003), trip(measured_ns)])))
    assert (check.ok, check.measured) == (ok, max(measured_ns, 100_000_003 if ok else 0) / 1e9)


def test_echoes_of_both_lengths_are_judged() -> None:
    large = {**trip(102_900_021), "frame_bytes": 1514, "expected_ns": 102_900_000}
    assert only(check_base_rtt.check(evidence([trip(100_000_000), large]))).ok is True
    late = {**large, "measured_ns": 102_900_000 + 20_001}
    check = only(check_base_rtt.check(evidence([trip(100_000_000), late])))
    assert (check.ok, check.expected) == (False, 0.1029)
    assert check.detail == "a_src0 to a_dst0, frames of 1514 bytes, farthest off of 2"


def test_a_probe_that_never_comes_back_fails() -> None:
    assert only(check_base_rtt.check(evidence([trip(100_000_000), trip(None)]))).ok is False


@pytest.mark.parametrize(("loss", "ok"), [("10%", False), ("50%", None), ("99.9999%", None)])
def test_probes_that_were_likely_lost_tell_nothing(loss: str, ok: bool | None) -> None:
    """Of 12 probes all are lost with (1 - 0.81)^12 = 2e-9, and with (1 - 0.25)^12 = 3%."""
    overrides = (f"topology.bottleneck.loss={loss}",)
    check = only(check_base_rtt.check(evidence([trip(None)], overrides=overrides)))
    assert check.ok is ok


def test_a_burst_tells_rate_and_queue() -> None:
    rate, queue = check_burst.check(evidence([burst()]))
    assert (rate.ok, queue.ok) == (True, True)
    assert rate.measured == pytest.approx(10e6)
    assert queue.measured == pytest.approx(0.12112)


def test_a_queue_that_ran_empty_now_and_then_does_not_change_the_measured_rate() -> None:
    thinned = burst()
    thinned["passed"] = [each for each in thinned["passed"] if each[1] % 10]
    rate, _ = check_burst.check(evidence([thinned]))
    assert rate.ok is True


@pytest.mark.parametrize(
    ("changed", "rate_ok", "queue_ok"),
    [
        (burst(gap_ns=FRAME_NS * 20 // 19), False, False),
        (burst(frames=90), True, False),
        (burst(frames=110), True, False),
        (burst(frames=100, came=101), True, False),  # nothing overflowed: the queue is longer
        (burst(frames=2), True, False),  # on a link that serialises each frame, one gap is enough
        (burst(frames=0), False, False),
        (burst(frames=-1), False, False),
        ({**burst(), "behind_ns": 0}, True, False),  # transmission and delay are no part of it
    ],
)
def test_a_burst_through_something_else_fails(
    changed: dict[str, Any], rate_ok: bool, queue_ok: bool
) -> None:
    rate, queue = check_burst.check(evidence([changed]))
    assert (rate.ok, queue.ok) == (rate_ok, queue_ok)


def test_a_short_queue_is_probed_in_rounds() -> None:
    short = {**burst(), "queue_packets": 4, "came": 700}
    short["passed"] = [
        [number, n, number * 10**9, number * 10**9 + n * FRAME_NS + BEHIND_NS]
        for number in range(10)
        for n in range(5)
    ]
    rate, queue = check_burst.check(evidence([short]))
    assert (rate.ok, queue.ok) == (True, True)
    shorter = {**short, "queue_packets": 2}
    rate, queue = check_burst.check(evidence([shorter]))
    assert (rate.ok, queue.ok) == (True, False)


@pytest.mark.parametrize(
    ("left_us", "ok"),
    [
        ((10_040, 10_080, 10_120), True),
        ((10_040, 10_040, 10_080), False),  # as of a token bucket: two leave at once
        ((10_040, 10_080, 10_160), False),
        ((10_040,), False),
        ((), False),
    ],
)
def test_small_frames_are_serialised_one_by_one(left_us: tuple[int, ...], ok: bool) -> None:
    probe = small(*(1000 * each for each in left_us))
    check = only(check_burst.check(evidence([probe])))
    assert (check.name, check.ok) == ("serialisation bottleneck:forward", ok)
    assert check.expected == pytest.approx(40e-6)


def test_a_clock_of_nanoseconds_may_round_both_ends_of_a_gap() -> None:
    for off_ns, ok in ((202, True), (203, False)):  # 0.5% of 40 us, and 2 ns
        check = only(check_burst.check(evidence([small(0, 40_000 + off_ns)])))
        assert check.ok is ok


def flow(name: str, asked: str, has: str | None) -> FlowRecord:
    ends = (name, "a", "x", "y", "builtin")
    return FlowRecord(*ends, asked, has, 0.0, None, 0.1, 0.1, ("bottleneck:forward",))


def test_congestion_controls_are_compared_flow_by_flow() -> None:
    flows = [flow("1", "reno", "reno"), flow("2", "reno", "cubic"), flow("3", "bbr", None)]
    reno, bbr = check_congestion.check(evidence(flows=flows))
    assert (reno.ok, reno.measured) == (False, "cubic")
    assert (bbr.ok, bbr.measured) == (None, None)
    assert only(check_congestion.check(evidence(flows=flows[:1]))).ok is True


@pytest.mark.parametrize(
    ("queue", "rx_dropped", "softnet", "total"),
    [(0, 0, 0, 0), (1, 0, 0, 7), (2, 0, 0, 7), (0, 3, 0, 3), (0, 0, 2, 2)],
)
def test_drops_count_everywhere_but_at_the_bottleneck(
    queue: int, rx_dropped: int, softnet: int, total: int
) -> None:
    samples = [sample(0, number) for number in range(3)] + [sample(9, queue, drops=7)]
    check = only(check_drops.check(evidence(quiet(rx_dropped, softnet), samples)))
    assert (check.measured, check.ok) == (total, total == 0)


def test_random_loss_is_no_drop_outside_the_bottleneck() -> None:
    samples = [sample(0, 0), sample(0, 1, drops=7), sample(0, 2)]
    lossy = evidence(quiet(), samples, overrides=("topology.bottleneck.loss=1%",))
    assert only(check_drops.check(lossy)).ok is True


@pytest.mark.parametrize(
    ("drops", "ok"), [(100, True), (145, True), (60, True), (155, False), (50, False), (0, False)]
)
def test_loss_is_held_against_its_binomial_interval(drops: int, ok: bool) -> None:
    samples = [sample(0, 0), sample(0, 1, packets=10_000 - drops, drops=drops), sample(0, 2)]
    found = check_loss.check(evidence([], samples, overrides=("topology.bottleneck.loss=1%",)))
    assert only(found).ok is ok


def test_channels_without_loss_lose_nothing_at_all() -> None:
    samples = [sample(0, 0), sample(0, 1, packets=10**6), sample(0, 2, packets=10**6, drops=1)]
    check = only(check_loss.check(evidence([], samples)))
    assert (check.name, check.ok) == ("loss elsewhere", False)


def test_nothing_is_said_of_the_loss_of_a_channel_that_nothing_crossed() -> None:
    samples = [sample(0, number) for number in range(3)]
    asked = evidence([], samples, overrides=("topology.bottleneck.loss=1%",))
    assert list(check_loss.check(asked)) == []


def test_offloads_must_be_off_at_both_times() -> None:
    assert only(check_offloads.check(evidence(quiet()))).ok is True
    check = only(check_offloads.check(evidence(quiet(gso=True))))
    assert (check.ok, check.measured, check.detail) == (False, 1, "gso of h/eth0")


def test_a_host_with_tso_must_have_it_and_no_other_interface() -> None:
    def judged(**of_host: bool) -> Check:
        facts = quiet()
        for fact in facts:
            if fact["fact"] == "interfaces":
                fact["interfaces"] = {
                    "a_src0/eth0": {"offloads": of_host},
                    "a_src00/eth0": {"offloads": {"gso": False, "tso": False, "gro": False}},
                    "wires/w1a": {"offloads": {"gso": False, "tso": False, "gro": False}},
                }
        return only(check_offloads.check(evidence(facts, overrides=("host.offloads=[tso]",))))

    assert judged(gso=True, tso=True, gro=False).ok is True
    check = judged(gso=True, tso=False, gro=True)
    assert (check.ok, check.measured) == (False, 2)
    assert check.detail == "gro of a_src0/eth0, tso of a_src0/eth0 is off"


def test_a_host_with_gro_must_have_it() -> None:
    host = {"fact": "interfaces", "interfaces": {"a_dst0/eth0": {"offloads": {"gro": True}}}}
    facts = [{**host, "at": at} for at in ("start", "end")]
    asked = ("host.hosts.a_dst0.offloads=[gro]",)
    assert only(check_offloads.check(evidence(facts, overrides=asked))).ok is True
    assert only(check_offloads.check(evidence(facts))).detail == "gro of a_dst0/eth0"
    facts[1] = {**facts[1], "interfaces": {"a_dst0/eth0": {"offloads": {"gro": False}}}}
    check = only(check_offloads.check(evidence(facts, overrides=asked)))
    assert (check.ok, check.detail) == (False, "gro of a_dst0/eth0 is off")


@pytest.mark.parametrize(
    ("coalesce", "counted", "most", "ok"),
    [
        ("10ms", 1011, 1011, True),  # 10 s, and 1% in which the last counters are read
        ("10ms", 1012, 1011, False),
        ("{time: 10ms, frames: 8}", 1111, 1111, True),
        ("{time: 10ms, frames: 8}", 1112, 1111, False),
    ],
)
def test_interrupts_are_no_more_than_their_moderation_lets_through(
    coalesce: str, counted: int, most: int, ok: bool
) -> None:
    def reading(at: str, delivered: int, dropped: int, interrupts: int) -> dict[str, Any]:
        ring = {"ring": [delivered, dropped, 0], "interrupts": interrupts}
        return {"fact": "packets", "at": at, "channels": {"a_dst0:forward": ring}}

    facts = [reading("start", 5, 1, 3), reading("end", 805, 8, 3 + counted)]
    overrides = ("duration=10s", "warmup=1s", f"host.hosts.a_dst0.coalesce={coalesce}")
    (run,) = plan(load(QUICKSTART, overrides)).runs
    judged = replace(evidence(facts, overrides=overrides), plan=samples_plan(run))
    check = only(check_interrupts.check(judged))
    assert (check.expected, check.measured, check.ok) == (most, counted, ok)
    assert check.detail == (
        f"most at a_dst0:forward; 800 frames in {counted} interrupts of all cards, "
        "7 dropped at full rings"
    )


def test_without_moderation_interrupts_are_not_looked_at_and_with_it_counters_must_be_there() -> (
    None
):
    (run,) = plan(load(QUICKSTART, ("host.coalesce=1ms",))).runs
    assert list(check_interrupts.check(evidence([]))) == []
    found = replace(evidence([], overrides=("host.coalesce=1ms",)), plan=samples_plan(run))
    with pytest.raises(LookupError):
        list(check_interrupts.check(found))


def passed(**channels: tuple[int, int, int] | None) -> dict[str, Any]:
    """A fact in which each channel has cut super-packets, or has no link."""
    return {
        "fact": "packets",
        "at": "end",
        "channels": {
            name: {} if counts is None else {"queue": [9, 0, 0], "super_packets": counts}
            for name, counts in channels.items()
        },
    }


def test_no_super_packet_may_ever_be_on_a_link() -> None:
    tso = ("host.offloads=[tso]",)
    fact = passed(first=(10, 25, 0), second=(0, 0, 0), none=None)
    check = only(check_super_packets.check(evidence([fact], overrides=tso)))
    assert (check.name, check.ok, check.measured) == ("super_packets", True, 0)
    assert check.detail == "10 became 25 frames"
    fact = passed(first=(0, 0, 2), second=(0, 0, 7), none=None)
    check = only(check_super_packets.check(evidence([fact], overrides=tso)))
    assert (check.ok, check.measured, check.detail) == (False, 9, "7 at second; at 2 of 3 places")


def test_without_tso_super_packets_are_not_looked_at_and_with_it_counters_must_be_there() -> None:
    assert list(check_super_packets.check(evidence([]))) == []
    fact = {"fact": "packets", "at": "end", "channels": {"first": {"queue": [9, 0, 0]}}}
    with pytest.raises(LookupError):
        list(check_super_packets.check(evidence([fact], overrides=("host.offloads=[tso]",))))


def test_settings_must_be_what_was_asked() -> None:
    end: dict[str, Any] = {"fact": "channels", "at": "end", "channels": {"b": {}, "c": {}}}
    told = {"fact": "namespaces", "at": "end", "values": {}}
    wrong = {**end, "differences": [["c", "rate_bps", 1, 2]]}
    check = only(check_settings.check(evidence([wrong, told])))
    assert (check.ok, check.measured, check.detail) == (
        False,
        1,
        "c: rate_bps is 2, requested was 1",
    )
    assert only(check_settings.check(evidence([{**end, "differences": []}, told]))).ok is True


@pytest.mark.parametrize(
    ("at_the_end", "ok", "detail"),
    [
        ("7", True, "0 channels, 1 settings of hosts"),
        ("5", False, "h net.ipv4.x"),
        (None, False, "h net.ipv4.x"),
    ],
)
def test_what_a_namespace_was_told_last_must_stay(
    at_the_end: str | None, ok: bool, detail: str
) -> None:
    told: dict[str, Any] = {"fact": "namespace", "host": "h", "sysctl": "net.ipv4.x", "clock_ns": 0}
    facts: list[dict[str, Any]] = [
        {**told, "value": 5},
        {**told, "value": 7},
        {"fact": "channels", "at": "end", "channels": {}, "differences": []},
        {"fact": "namespaces", "at": "end", "values": {"h": {"net.ipv4.x": at_the_end}}},
    ]
    check = only(check_settings.check(evidence(facts)))
    assert (check.ok, check.detail) == (ok, detail)


@pytest.mark.parametrize(
    ("rate_bps", "ok"), [(10e6, True), (9.96e6, True), (9.5e6, False), (10.1e6, False)]
)
def test_the_rate_is_judged_while_backlogged(rate_bps: float, ok: bool) -> None:
    check = only(check_rate.check(evidence([], ticks(rate_bps, backlog=130_000))))
    assert check.ok is ok
    assert check.measured == pytest.approx(rate_bps, rel=1e-4)


def test_frames_at_the_ends_of_short_spans_do_not_count_as_rate() -> None:
    """Sampled every 10 ms at 2 Mbit/s, a frame of 6 ms leaves an interval or it does not."""
    rng = np.random.default_rng(1)
    rows, octets, backlog, credit = [], 0, 0, 0.0
    for tick in range(3000):
        rows.append(sample(tick * 10_000_000, 0, octets=octets, backlog=backlog))
        if backlog < 4542 and rng.random() < 0.4:
            backlog += 1514 * int(rng.integers(1, 5))
        credit = min(credit + 2500, 1514.0) if not backlog else credit + 2500
        while backlog and credit >= 1514:
            octets, backlog, credit = octets + 1514, backlog - 1514, credit - 1514
    quick = evidence([], rows, overrides=("topology.bottleneck.rate=2mbit",))
    assert all(found.ok for found in check_rate.check(quick))


def test_a_queue_that_may_have_run_empty_tells_no_rate() -> None:
    assert list(check_rate.check(evidence([], ticks(5e6, backlog=120_000)))) == []


def test_a_window_larger_than_was_asked_for_is_seen() -> None:
    given = {"a": (5000, 5000), "b": (5000, 4000), "c": (9000, 9001)}
    small, large = check_window.check(replace(evidence(), windows=given))
    assert (small.name, small.measured, small.ok) == ("receive_window 5000", 5000, True)
    assert (large.name, large.measured, large.ok) == ("receive_window 9000", 9001, False)
    assert list(check_window.check(evidence())) == []


def test_the_verdict_is_the_worst_of_the_checks() -> None:
    still = [
        {"fact": "channels", "at": "end", "channels": {}, "differences": []},
        {"fact": "namespaces", "at": "end", "values": {}},
    ]
    samples = [sample(0, number) for number in range(3)]
    good = [*quiet(), *still]
    assert judge(evidence(good, samples))[0] == "faithful"
    silent = [flow("1", "reno", None)]
    assert judge(evidence(good, samples, silent))[0] == "doubtful"
    assert judge(evidence([*good, trip(1)], samples, silent))[0] == "unfaithful"


MTU = ["a_src0", "MTU of eth0", "1500", "1000"]
QDISC = ["a_src0", "qdiscs of eth0", "noqueue 0: root", "netem 1: root"]
ROUTE = ["a_dst0", "routes of eth1", "", "10.0.0.0/8 src 10.0.0.2"]


@pytest.mark.parametrize(
    ("start", "end", "count", "detail"),
    [
        ([], [], 0, "90 settings"),
        ([MTU], [MTU], 1, "MTU of eth0 in a_src0: 1000, requested: 1500"),
        ([], [QDISC], 1, "qdiscs of eth0 in a_src0: netem 1: root, requested: noqueue 0: root"),
        ([MTU], [], 1, "MTU"),
        ([MTU, ROUTE], [MTU, QDISC], 3, "10.0.0.0/8 src 10.0.0.2, requested: none"),
    ],
)
def test_settings_that_differ_from_the_request_at_either_time_are_counted_once(
    start: list[list[str]], end: list[list[str]], count: int, detail: str
) -> None:
    check = only(check_hosts.check(evidence([state("start", *start), state("end", *end)])))
    assert (check.measured, check.ok) == (count, count == 0)
    assert detail in check.detail


def test_a_run_without_the_fact_has_no_check_of_hosts() -> None:
    assert list(check_hosts.check(evidence(quiet()))) == []
