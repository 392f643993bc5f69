"""UDP sources send what the scenario says, to the packet, and what is counted of them is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.plan import plan
from orchestrator.protocol.links.random_quantities import on_periods
from orchestrator.scenario import load
from orchestrator.testbed.traffic.udp import packet_times, random_packet_times
from tests.guest.conftest import Run
from tests.guest.idle_path import IdleLink, crossing_s

pytestmark = pytest.mark.guest

FRAME_BITS = 1514 * 8
IDLE_S = crossing_s([IdleLink(100e6, 0.02), IdleLink(10e6, 0.01), IdleLink(100e6, 0.02)], 1514)
"""One-way delay of a full frame over the idle network."""
DUMBBELL = """\
version: 1
name: udp
seed: 3
duration: 12s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 20ms}}
    - {name: b, hosts: 1, access: {rate: 100mbit, delay: 20ms}}
flows:
"""


@pytest.fixture
def udp(run: Run, tmp_path: Path) -> Any:
    """Run the dumbbell with the lines of flows given; return the run's document."""

    def run_it(*flows: str, overrides: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
        path = tmp_path / "udp.yaml"
        path.write_text(DUMBBELL + "".join(f"  - {{{flow}}}\n" for flow in flows), "utf-8")
        document = run(*overrides, scenario=path, **options)
        if document["status"] == "ok":
            assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
        return document

    return run_it


def packets_due(time_s: float, rate_bps: int, frame_bits: int = FRAME_BITS) -> int:
    """Return how many packets a source sends in a time: the first one at once."""
    return int(-(-time_s * rate_bps // frame_bits))


def test_cbr_is_exact_to_the_packet_and_its_delay_to_the_microsecond(udp: Any) -> None:
    document = udp("name: one, group: a, start: 1s, stop: 11s, traffic: {kind: cbr, rate: 5mbit}")
    (flow,) = document["flows"]
    assert (flow["transport"], flow["traffic"], flow["engine"]) == ("udp", "cbr", "udp")
    assert flow["sent_packets"] == flow["received_packets"] == packets_due(10, 5_000_000)
    assert flow["loss_ratio"] == flow["reordered_packets"] == flow["duplicate_packets"] == 0
    assert flow["goodput_bps"] == flow["received_packets"] * 1472 * 8 / 12
    assert flow["throughput_bps"] == flow["sent_packets"] * FRAME_BITS / 12
    # An idle link sends a frame at once, so a packet that never waits takes the propagation delay.
    assert flow["one_way_delay_min_s"] == pytest.approx(IDLE_S, abs=1e-9)
    assert flow["one_way_delay_mean_s"] == pytest.approx(IDLE_S, abs=1e-6)
    assert flow["one_way_delay_max_s"] == pytest.approx(IDLE_S, abs=1e-5)
    assert flow["jitter_s"] < 1e-6
    for name in ("rtt_mean_s", "retransmitted_segments", "congestion_asked", "transfers"):
        assert flow[name] is None
    assert document["metrics"]["jain_index"] is None


@pytest.mark.parametrize(("ecn", "name"), [("ect0", "ect0_packets"), ("ect1", "ect1_packets")])
def test_ecn_capable_packets_are_marked_by_codel_and_counted_where_they_come(
    udp: Any, ecn: str, name: str
) -> None:
    """A second source is not ECN-capable, so CoDel drops where it would mark."""
    document = udp(
        f"name: marked, group: a, traffic: {{kind: cbr, rate: 6mbit, ecn: {ecn}}}",
        "name: plain, group: b, traffic: {kind: cbr, rate: 6mbit}",
        overrides=("topology.bottleneck.queue={kind: codel, limit: 5000p, ecn: true}",),
    )
    marked, plain = document["flows"]
    link = document["links"][0]
    assert marked["ce_packets"] > 100
    # At the end up to 30 ms of packets are on the way.
    assert 0 <= link["marks_packets"] - marked["ce_packets"] <= packets_due(0.03, 10_000_000)
    assert marked["ce_packets"] + marked[name] == marked["received_packets"]
    assert marked["not_ect_packets"] == 0
    assert (plain["ce_packets"], plain["not_ect_packets"]) == (0, plain["received_packets"])
    assert {marked["ect0_packets"], marked["ect1_packets"]} == {0, marked[name]}
    assert link["drops_packets"] > 100
    assert document["metrics"]["ce_packets"] == marked["ce_packets"]
    assert marked["received_ce_segments"] is None, "of tcp_info"


def test_cbr_ends_by_bytes_in_whole_packets(udp: Any) -> None:
    traffic = "{kind: cbr, rate: 40%, packet_size: 1000B, bytes: 1MB}"
    (flow,) = udp(f"name: one, group: a, direction: reverse, traffic: {traffic}")["flows"]
    assert flow["sent_packets"] == flow["received_packets"] == -(-1_000_000 // 972)


def test_excess_packets_are_queued_then_lost(udp: Any) -> None:
    document = udp(
        "name: one, group: a, traffic: {kind: cbr, rate: 150%}", overrides=("warmup=2s",)
    )
    (flow,) = document["flows"]
    assert flow["sent_packets"] == pytest.approx(10 * 15e6 / FRAME_BITS, abs=1)
    assert flow["received_packets"] == pytest.approx(10 * 10e6 / FRAME_BITS, abs=2)
    assert flow["loss_ratio"] == pytest.approx(1 / 3, abs=1e-3)
    # Behind 100 frames that wait and the one in transmission.
    full_s = IDLE_S + 100.5 * FRAME_BITS / 10e6
    assert flow["one_way_delay_max_s"] == pytest.approx(full_s, abs=FRAME_BITS / 10e6)
    assert flow["one_way_delay_mean_s"] == pytest.approx(full_s, abs=FRAME_BITS / 10e6)


def test_cbr_at_95_per_cent_leaves_the_rest_to_tcp(udp: Any) -> None:
    document = udp(
        "name: tcp, group: a, congestion: reno",
        "name: cbr, group: b, traffic: {kind: cbr, rate: 95%, packet_size: 1000B}",
        overrides=("duration=40s", "warmup=10s"),
    )
    tcp, cbr = document["flows"]
    assert cbr["throughput_bps"] == pytest.approx(9.5e6, rel=1e-4)
    assert cbr["loss_ratio"] < 0.005
    left_bps = 10e6 - cbr["received_packets"] * 1014 * 8 / 30
    assert tcp["goodput_bps"] == pytest.approx(left_bps * 1448 / 1514, rel=0.03)
    assert document["metrics"]["jain_index"] == 1.0  # the TCP flow by itself


ON_OFF = (
    "{kind: onoff-udp, rate: 1mbit, on: 2s, off: 3s}",
    "{kind: onoff-udp, rate: 500kbit, on: {distribution: exponential, mean: 100ms}, "
    "off: {distribution: exponential, mean: 200ms}}",
    "{kind: onoff-udp, rate: 500kbit, on: {distribution: pareto, mean: 100ms, shape: 1.5}, "
    "off: {distribution: pareto, mean: 200ms, shape: 1.5}}",
)


def test_on_off_sources_send_at_the_times_drawn_from_their_seeds(udp: Any, tmp_path: Path) -> None:
    """The bed sends just the packets that follow from the draws; their means are a unit test."""
    import random

    lines = [f"name: f{n}, group: a, count: 4, traffic: {t}" for n, t in enumerate(ON_OFF)]
    document = udp(*lines, overrides=("duration=30s", "start_jitter=50ms"))
    planned = plan(load(tmp_path / "udp.yaml", ("duration=30s", "start_jitter=50ms"))).runs[0]
    assert len(document["flows"]) == 12
    for flow, spec in zip(document["flows"], bed_spec(planned, 2**30)["flows"], strict=True):
        parameters = spec["parameters"]
        times = list(
            packet_times(
                spec["start_ns"],
                30 * 10**9,
                on_periods(random.Random(spec["seed"]), parameters),
                FRAME_BITS,
                parameters["rate_bps"],
            )
        )
        assert flow["sent_packets"] == len(times)
        arrived = [time for time in times if time + IDLE_S * 1e9 <= 30 * 10**9]
        assert flow["received_packets"] == pytest.approx(len(arrived), abs=1)
    fixed = document["flows"][0]
    assert fixed["sent_packets"] == packets_due(12, 1_000_000)  # six periods of 2 s within 30 s


def test_poisson_sources_send_at_the_times_drawn_from_their_seeds(udp: Any, tmp_path: Path) -> None:
    """Their number, gaps and independence are a unit test; here the bed sends just these."""
    import random

    traffic = "{kind: poisson, rate: 1mbit}"
    few = "{kind: poisson, rate: 1mbit, bytes: 100kB}"
    document = udp(
        f"name: p, group: a, count: 3, start: 1s, stop: 11s, traffic: {traffic}",
        f"name: few, group: b, traffic: {few}",
    )
    specs = bed_spec(plan(load(tmp_path / "udp.yaml")).runs[0], 2**30)["flows"]
    sent = [flow["sent_packets"] for flow in document["flows"]]
    for spec, packets in zip(specs[:3], sent[:3], strict=True):
        generator = random.Random(spec["seed"])
        due = list(random_packet_times(generator, 10**9, 11 * 10**9, FRAME_BITS, 1_000_000))
        assert packets == len(due)
    assert len(set(sent[:3])) > 1
    assert sent[3] == -(-100_000 // 1472)
    for flow in document["flows"]:
        assert flow["traffic"] == "poisson"
        assert flow["received_packets"] == flow["sent_packets"]
        # Packets wait for those before them only, so the least delay is the propagation delay.
        assert flow["one_way_delay_min_s"] == pytest.approx(IDLE_S, abs=1e-9)


def test_a_poisson_source_waits_as_in_an_m_d_1_queue(udp: Any) -> None:
    """Pollaczek and Khinchine's mean wait is load / (2 (1 - load)) packet times."""
    (flow,) = udp(
        "name: one, group: a, traffic: {kind: poisson, rate: 70%}",
        overrides=("duration=100s", "topology.bottleneck.queue.limit=1000p"),
    )["flows"]
    assert flow["loss_ratio"] == 0
    assert flow["sent_packets"] == pytest.approx(7e6 / FRAME_BITS * 100, rel=4 / 57_000**0.5)
    wait_s = flow["one_way_delay_mean_s"] - IDLE_S
    assert wait_s == pytest.approx(0.7 / 0.6 * FRAME_BITS / 10e6, rel=0.08)


@pytest.mark.long
def test_equal_seeds_give_equal_runs_with_any_sampling(udp: Any) -> None:
    flows = (
        "name: tcp, group: a, congestion: cubic",
        f"name: many, group: b, count: 10, traffic: {ON_OFF[2]}",
        "name: random, group: b, traffic: {kind: poisson, rate: 500kbit}",
    )
    base = ("duration=8s", "start_jitter=10ms")
    runs = [
        udp(*flows, overrides=(*base, *more))
        for more in ((), ("sample.tcp=10ms", "sample.queue=30ms"), ("seed=4",))
    ]
    assert runs[0]["digest"] == runs[1]["digest"] != runs[2]["digest"]
    assert runs[0]["flows"] != runs[2]["flows"]
    counted = ("sent_packets", "received_packets", "one_way_delay_max_s", "goodput_bps")
    for flow, other in zip(runs[0]["flows"], runs[1]["flows"], strict=True):
        assert [flow[name] for name in counted] == [other[name] for name in counted]


def test_a_source_that_lags_behind_fails_the_run(udp: Any, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.kernel import system\n"
        "from orchestrator.testbed.kernel import timed_send as timedsend\n"
        "send = timedsend.TimedSender.send\n"
        "def late(self, packets):\n"
        "    system.Timer().sleep_until(packets[0][0] + 10**9)\n"
        "    return send(self, packets)\n"
        "timedsend.TimedSender.send = late\n",
        encoding="utf-8",
    )
    document = udp("name: one, group: a, traffic: {kind: cbr, rate: 1mbit}", hook=hook)
    assert document["status"] == "failed"
    assert "flow one: sender: datagrams leave later than they are due" in document["error"]


def test_duplicated_and_corrupted_packets_are_distinguished(udp: Any) -> None:
    (flow,) = udp(
        "name: one, group: a, traffic: {kind: cbr, rate: 8mbit}",
        overrides=(
            "topology.bottleneck.duplication={forward: 2%, reverse: 0%}",
            "topology.groups.a.access.corruption=1%",
        ),
    )["flows"]
    sent = flow["sent_packets"]
    assert flow["duplicate_packets"] == pytest.approx(0.02 * sent, rel=0.3)
    # A damaged packet fails its checksum; of a doubled one the other copy may be whole.
    assert flow["loss_ratio"] == pytest.approx(1 - 0.99**2, rel=0.3)
    assert flow["reordered_packets"] == 0
