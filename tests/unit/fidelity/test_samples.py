"""Checks that compare a run's samples with its plan, on samples made up for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.execution.samples_plan import samples_plan
from orchestrator.fidelity import (
    check_receive_limit,
    check_rtt_floor,
    check_samples,
    check_window,
)
from orchestrator.fidelity.evidence import Columns, Evidence
from orchestrator.planning.plan import plan
from orchestrator.recording.model import QUEUE_DTYPE, Check, FlowRecord, QueueRecord
from orchestrator.recording.plan import SamplesPlan
from orchestrator.recording.readings import READING_DTYPE
from orchestrator.scenario import load

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
BASE_RTT_US = 100_096
"""100 ms of delays; 50 bytes take 40 us at 10 Mbit/s and 4 us at 100 Mbit/s, there and back."""
DURATION = ("duration=10s", "warmup=2s", "sample.queue=100ms", "sample.tcp=100ms")
TICKS_NS = np.arange(0, 10_000_000_001, 100_000_000)


def planned(*overrides: str) -> SamplesPlan:
    (run,) = plan(load(SCENARIOS / "quickstart.yaml", overrides)).runs
    return samples_plan(run)


def columns(**changed: object) -> dict[str, Any]:
    """Return the samples of a sender from 0.2 s on, with the RTT of the idle network."""
    times = TICKS_NS[2:]
    sizes = {
        name: np.full(len(times), 0)
        for name in ("total_retrans_segments", "rwnd_limited_us", "ca_state", "state")
    }
    return {
        "time_ns": times, **sizes, "busy_time_us": times // 1000,
        "snd_wnd_bytes": np.full(len(times), 1 << 20), "rtt_us": np.full(len(times), BASE_RTT_US),
        "min_rtt_us": np.full(len(times), BASE_RTT_US), **changed,
    }  # fmt: skip


def evidence(
    sender: dict[str, Any] | None = None,
    queue_times_ns: Sequence[int] | None = None,
    overrides: tuple[str, ...] = (),
    other: dict[str, Any] | None = None,
) -> Evidence:
    """Return evidence about the quickstart; samples that are not given are perfect."""
    (run,) = plan(load(SCENARIOS / "quickstart.yaml", (*DURATION, *overrides))).runs
    times = TICKS_NS if queue_times_ns is None else np.array(queue_times_ns, np.int64)
    rows = np.zeros(len(times), QUEUE_DTYPE)
    rows["time_ns"] = times
    queues = [QueueRecord("q", "bottleneck", "forward", "queue", "droptail", True)]
    flows = [
        FlowRecord(
            each.name, each.group, each.source, each.sink, each.engine, each.congestion,
            each.congestion, each.start_s, each.stop_s, each.base_rtt_s, None, each.path,
        )
        for each in run.flows
    ]  # fmt: skip
    samples = [columns() if each is None else each for each in (sender, other)]

    def senders(flow: int, names: Sequence[str]) -> Columns:
        return {name: samples[flow][name] for name in names}

    return Evidence(run.network, [], flows, queues, rows, plan=samples_plan(run), senders=senders)


def only(checks: Any) -> Check:
    (found,) = checks
    assert isinstance(found, Check)
    return found


def without(*places: int) -> dict[str, Any]:
    return {name: np.delete(values, places) for name, values in columns().items()}


def test_complete_samples_pass_every_check() -> None:
    for check in (check_samples, check_rtt_floor, check_receive_limit):
        assert only(check.check(evidence())).ok is True


def test_runs_stored_without_a_plan_and_without_samples_are_not_judged() -> None:
    whole = evidence()
    old = Evidence(whole.network, [], whole.flows, whole.queues, whole.queue_samples)
    for check in (check_samples, check_rtt_floor, check_receive_limit):
        assert not list(check.check(old))


@pytest.mark.parametrize("missing", [0, 50, 100])
def test_a_missing_sample_of_a_queue_fails(missing: int) -> None:
    check = only(
        check_samples.check(evidence(queue_times_ns=np.delete(TICKS_NS, missing).tolist()))
    )
    assert (check.ok, check.measured) == (False, 1)
    assert f"of q: 1, the first at {missing / 10:g} s" in check.detail


def test_queues_that_were_never_sampled_fail() -> None:
    assert only(check_samples.check(evidence(queue_times_ns=[]))).measured == len(TICKS_NS)


def test_a_sample_at_another_time_counts_as_missing() -> None:
    late = TICKS_NS + (TICKS_NS == 5_000_000_000)
    assert only(check_samples.check(evidence(queue_times_ns=late.tolist()))).measured == 1


@pytest.mark.parametrize(("places", "missing"), [((0, 1), 0), ((40,), 1), ((97, 98), 2)])
def test_a_sender_is_sampled_from_its_first_sample_to_the_end(
    places: tuple[int, ...], missing: int
) -> None:
    check = only(check_samples.check(evidence(without(*places))))
    assert (check.measured, check.ok) == (missing, missing == 0)


def test_a_sender_that_stops_or_has_few_bytes_may_end_early() -> None:
    half = without(*range(50, 99))
    for option, missing in (("stop=5s", 0), ("stop=6s", 8), ("traffic.bytes=1MB", 0)):
        overrides = (f"flows.westwood.{option}",)
        check = only(check_samples.check(evidence(half, overrides=overrides)))
        assert check.measured == missing, option


@pytest.mark.parametrize("outcome", ["timed_out", "reset", "unreachable"])
def test_a_sender_whose_connection_failed_has_no_samples_afterwards(outcome: str) -> None:
    half = without(*range(50, 99))
    whole = evidence(half)
    for ended_s, missing in ((5.15, 0), (6.0, 8)):
        flows = [replace(whole.flows[0], outcome=outcome, ended_s=ended_s), *whole.flows[1:]]
        check = only(check_samples.check(replace(whole, flows=flows)))
        assert (check.measured, check.ok) == (missing, missing == 0)
    assert only(check_samples.check(whole)).measured == 49


def test_the_notice_of_a_destroyed_socket_is_no_sample() -> None:
    sender = without(*range(60, 98))
    overrides = ("flows.westwood.stop=5s",)
    for state, missing in ((7, 0), (1, 38)):
        sender["state"] = np.where(sender["time_ns"] == TICKS_NS[-1], state, 1)
        assert only(check_samples.check(evidence(sender, overrides=overrides))).measured == missing


@pytest.mark.parametrize(
    ("min_rtt_us", "resent", "ok"),
    [
        (BASE_RTT_US - 20, 0, True),
        (BASE_RTT_US - 21, 0, False),
        (
            BASE_RTT_US - 1021,
            5,
            True,
        ),  # after a retransmission, timestamps in whole milliseconds count
        (2**32 - 1, 0, True),
        (0, 0, True),
    ],
)
def test_an_rtt_below_that_of_the_idle_network_fails(
    min_rtt_us: int, resent: int, ok: bool
) -> None:
    sender = columns()
    sender["min_rtt_us"] = np.where(sender["time_ns"] == 5 * 10**9, min_rtt_us, BASE_RTT_US)
    sender["total_retrans_segments"] = (sender["time_ns"] >= 5 * 10**9) * resent
    check = only(check_rtt_floor.check(evidence(sender)))
    assert check.ok is ok


def test_a_window_that_limits_because_of_an_unlimited_queue_is_explained() -> None:
    """An access link that is no faster than the bottleneck: the check names its queue."""
    limited = columns(rwnd_limited_us=TICKS_NS[2:] // 2000)
    whole = evidence(limited)
    front = QueueRecord("front", "a_src0", "forward", "queue", "droptail", False)
    readings = np.zeros(2, READING_DTYPE)
    readings["queue"], readings["backlog_bytes"] = [0, 1], [3000, 40_000_000]
    for queues, named in (([*whole.queues, front], True), ([front, *whole.queues], False)):
        check = only(check_receive_limit.check(replace(whole, queues=queues, readings=readings)))
        assert check.ok is False
        assert ("in front of a_src0:forward, whose queue has no limit" in check.detail) is named


@pytest.mark.slow
def test_jitter_skipped_delays_and_events_lower_the_floor() -> None:
    def least_ns(*overrides: str) -> int:
        return planned(*DURATION, *overrides)["flows"][0]["least_rtt_ns"]

    def sending_ns(bottleneck_mbps: float = 10) -> int:
        """50 bytes over three links, there and back."""
        return round(2 * 50 * 8 * 1000 * (1 / bottleneck_mbps + 2 / 100))

    assert least_ns() == 100_000_000 + sending_ns() == BASE_RTT_US * 1000
    jitter = "topology.bottleneck.jitter={spread: 5ms, distribution: uniform}"
    assert least_ns(jitter) == 90_000_000 + sending_ns()
    # A packet that skips the delay is taken to arrive at once.
    skipped = "topology.bottleneck.reordering=1%"
    assert least_ns(skipped) == 80_000_000 + sending_ns(float("inf"))
    shorter = "events=[{at: 3s, link: bottleneck, delay: 4ms}]"
    assert least_ns(shorter) == 88_000_000 + sending_ns()
    assert least_ns("events=[{at: 3s, link: bottleneck, delay: 70ms}]") == least_ns()


def test_a_higher_rate_lowers_the_floor_and_a_varying_one_adds_nothing() -> None:
    def least_ns(*overrides: str) -> int:
        return planned(*DURATION, *overrides)["flows"][0]["least_rtt_ns"]

    # At 10 and at 50 Mbit/s, 50 bytes take 40 and 8 us.
    assert least_ns("topology.bottleneck.rate=50mbit") == least_ns() - 2 * 32_000
    faster = "events=[{at: 3s, link: bottleneck, direction: forward, rate: 50mbit}]"
    assert least_ns(faster) == least_ns() - 32_000
    assert least_ns("events=[{at: 3s, link: bottleneck, rate: 1mbit}]") == least_ns()
    (run,) = plan(load(SCENARIOS / "tutorial" / "53-capacity-trace.yaml", ["repetitions=1"])).runs
    flow = run.flows[0]
    sending = [
        hop
        for hop in (*run.network.path(flow.source, flow.sink),
                    *run.network.path(flow.sink, flow.source))
        if not hop.channel.rate_varies
    ]  # fmt: skip
    assert len(sending) < len(flow.path) + len(flow.ack_path)
    floor_ns = round(flow.propagation_rtt_s * 1e9) + sum(
        50 * 8 * 10**9 // hop.channel.rate_bps for hop in sending if hop.channel.rate_bps
    )
    assert samples_plan(run)["flows"][0]["least_rtt_ns"] == floor_ns


def test_a_reroute_to_a_shorter_path_lowers_the_floor() -> None:
    """The scenario's first reroute is to a longer path, and its second back to the first one."""
    (run,) = plan(load(SCENARIOS / "tutorial" / "52-reroute.yaml")).runs
    (flow, *_), (_, longer, shorter) = run.flows, run.events
    there, back = (flow.source, flow.sink), (flow.sink, flow.source)
    moved = replace(flow, path=longer.routes[there], ack_path=longer.routes[back])
    for events, floor_is_short in (((longer, shorter), True), ((longer,), False)):
        (planned_flow,) = samples_plan(replace(run, flows=(moved,), events=events))["flows"]
        shortest_ns = round(flow.base_rtt_s * 1e9)
        assert (planned_flow["least_rtt_ns"] == shortest_ns) is floor_is_short
        assert planned_flow["least_rtt_ns"] >= shortest_ns


@pytest.mark.parametrize(("share", "ok"), [(0.0, True), (0.009, True), (0.02, False)])
def test_a_window_that_limits_a_flow_fails(share: float, ok: bool) -> None:
    limited = (columns()["busy_time_us"] * share).astype(np.int64)
    check = only(check_receive_limit.check(evidence(columns(rwnd_limited_us=limited))))
    assert check.ok is ok
    assert check.measured == pytest.approx(share, abs=1e-3)


def test_a_window_that_still_grows_may_limit_a_flow() -> None:
    sender = columns()
    grows = sender["time_ns"] < 3 * 10**9
    sender["snd_wnd_bytes"] = np.where(grows, 1 << 16, 1 << 20)
    sender["rwnd_limited_us"] = np.minimum(sender["busy_time_us"], 3_400_000)
    assert only(check_receive_limit.check(evidence(sender))).ok is True
    sender["rwnd_limited_us"] = np.minimum(sender["busy_time_us"], 4_400_000)
    assert only(check_receive_limit.check(evidence(sender))).ok is False


def test_a_window_that_limits_while_a_loss_is_repaired_is_no_fault() -> None:
    repairs = (columns()["time_ns"] >= 4 * 10**9) & (columns()["time_ns"] < 6 * 10**9)
    limited = np.cumsum(np.where(repairs, 50_000, 0))
    for ca_state, ok in ((3, True), (0, False)):
        sender = columns(rwnd_limited_us=limited, ca_state=np.where(repairs, ca_state, 0))
        assert only(check_receive_limit.check(evidence(sender))).ok is ok
    repairing = columns(ca_state=np.full(len(limited), 3))
    assert not list(check_receive_limit.check(evidence(repairing, other=repairing)))


@pytest.mark.parametrize("limit", ["traffic.window=20p", "tcp.receive_buffer=64kB"])
def test_flows_with_a_limit_of_the_scenario_are_not_judged(limit: str) -> None:
    option = f"flows.westwood.{limit}"
    assert planned(*DURATION, option)["flows"][0]["window_limited"]
    assert not planned(*DURATION, option)["flows"][1]["window_limited"]


@pytest.mark.parametrize(
    ("limit", "least_bytes"),
    [
        ("1p", 1448),
        ("1152B", 1152),
        ("2p", 2896),
        ("2800B", 1448),
        ("3000B", 2896),
        ("64p", 64 * 1448),
        ("1000p", 1_448_000),
        ("1000001B", 1_000_000),
    ],
)
def test_a_window_that_never_reached_its_limit_fails(limit: str, least_bytes: int) -> None:
    option = f"flows.westwood.traffic.window={limit}"
    requested = plan(load(SCENARIOS / "quickstart.yaml", [option])).runs[0]
    size_bytes = requested.flows[0].traffic_parameters["window_bytes"]

    def found(advertised: int, acked_bytes: int) -> Check:
        sender = columns(bytes_acked=np.full(len(TICKS_NS) - 2, acked_bytes))
        judged = replace(
            evidence(sender, overrides=(option,)), windows={"westwood": (size_bytes, advertised)}
        )
        return only(check_window.check(judged))

    assert found(least_bytes, 4 * size_bytes + 1).ok is True
    # The limit of a larger window is known to the window scale.
    too_small = size_bytes - 100 if size_bytes > 1 << 16 else least_bytes - 1
    assert found(too_small, 4 * size_bytes + 1).ok is False
    assert found(too_small, 4 * size_bytes).ok is True
    assert found(size_bytes + 1, 4 * size_bytes).ok is False
