"""The modules in the guest's kernel against closed forms: of throughput, of a queue, of ssthresh.

The scenarios are those of scenarios/papers/closed-forms, shortened. Each limit is the mean and
four standard deviations of as long pieces of the whole runs (results in docs/modules.md).
What a form says itself stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import SENDER
from results.store.store import Store
from tests.guest.conftest import Run
from tests.guest.idle_path import ACK_BYTES, SYN_BYTES, IdleLink, crossing_s

pytestmark = pytest.mark.guest

FOLDER = Path(__file__).resolve().parents[2] / "scenarios" / "papers" / "closed-forms"
SHORT = ("repetitions=1", "duration=45s", "warmup=10s")
SLOW_START_ONLY = "stop=2s"
"""For flows that send much and lose too seldom to tell anything in a short run."""

Flow = Mapping[str, Any]


def flows_of(document: Mapping[str, Any], control: str, least_lost: int = 0) -> list[Flow]:
    """Return the flows of a faithful run with that congestion control that lost enough to tell."""
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    found = [
        flow
        for flow in document["flows"]
        if flow["congestion_control"] == control and flow["retransmitted_segments"] >= least_lost
    ]
    assert len(found) >= 1
    return found


def mean(flows: Sequence[Flow], name: str) -> float:
    return float(np.mean([flow[name] for flow in flows]))


def exponent(flows: Sequence[Flow], of: str, at_equal_loss: bool = False) -> float:
    """Return the slope of log goodput over the log of that quantity.

    Flows of equal loss do not lose equally often in a short time; goodput x sqrt(p) levels that.
    """
    assert len(flows) >= 3
    rates = [
        flow["goodput_bps"] * (math.sqrt(flow["loss_ratio"]) if at_equal_loss else 1.0)
        for flow in flows
    ]
    return float(stats.linregress(np.log([flow[of] for flow in flows]), np.log(rates)).slope)


def columns(db: Path, document: Mapping[str, Any], flow: str, *names: str) -> dict[str, Any]:
    """Return those columns of a sender's samples after the warm-up."""
    with Store.open_read_only(db) as store:
        run = store.load(document["id"])
        within = (nanoseconds(run.warmup_s), nanoseconds(run.duration_s))
        return run.tcp(flow, SENDER, names, within)


@pytest.mark.long
def test_renos_throughput_is_proportional_to_the_inverse_root_of_loss(run: Run) -> None:
    seldom = [f"flows.{name}-1e-4.{SLOW_START_ONLY}" for name in ("reno", "newreno_ns2")]
    document = run(*SHORT, *seldom, scenario=FOLDER / "loss.yaml")
    reno = flows_of(document, "reno", least_lost=20)
    assert exponent(reno, "loss_ratio") == pytest.approx(-0.536, abs=0.032)  # form: -1/2
    assert mean(reno, "reno_form_ratio") == pytest.approx(0.886, abs=0.040)  # 0.926 and less
    # Growing by acknowledgements that stand for 1.95 segments: 1 / sqrt(1.95) of that, or 0.663.
    counting = flows_of(document, "newreno_ns2", least_lost=20)
    assert exponent(counting, "loss_ratio") == pytest.approx(-0.529, abs=0.040)
    assert mean(counting, "reno_form_ratio") == pytest.approx(0.666, abs=0.032)


@pytest.mark.long
def test_renos_throughput_falls_with_the_rtt_and_libras_does_not(run: Run) -> None:
    document = run(*SHORT, scenario=FOLDER / "rtt.yaml")
    reno = flows_of(document, "reno", least_lost=8)
    assert exponent(reno, "rtt_mean_s", True) == pytest.approx(-1.0, abs=0.11)
    counting = flows_of(document, "newreno_ns2", least_lost=8)
    assert exponent(counting, "rtt_mean_s", True) == pytest.approx(-0.985, abs=0.15)
    libra = flows_of(document, "libra", least_lost=20)
    assert exponent(libra, "rtt_mean_s", True) == pytest.approx(0.0, abs=0.08)
    # The fixed point of its two rules at an empty queue is sqrt(2 alpha (1 - p) / (T1 p))
    # segments/s for any RTT. Here alpha = k1 C = 2 x 1000 and T1 = 1 s.
    form = math.sqrt(2 * 2000)
    per_s = [
        flow["goodput_bps"] / 8 / 1448 * math.sqrt(flow["loss_ratio"] / (1 - flow["loss_ratio"]))
        for flow in libra
    ]
    assert np.mean(per_s) / form == pytest.approx(0.856, abs=0.041)


@pytest.mark.long
def test_the_westwoods_follow_their_form_behind_a_standing_queue(run: Run) -> None:
    document = run(
        "repetitions=1", "duration=110s", "warmup=30s", scenario=FOLDER / "standing-queue.yaml"
    )
    names = ("westwoodplus", "westwood", "tibet")
    flows = {flow["name"]: flow for name in names for flow in flows_of(document, name)}
    limits = {  # 0.95 and less; a window cut to half would make the third 0.59
        "westwoodplus-1e-2": (0.799, 0.116),
        "westwoodplus-near": (0.848, 0.132),
        "westwoodplus-far": (0.896, 0.224),
        "westwood-3e-3": (0.837, 0.160),
        "tibet-1e-2": (0.789, 0.140),
    }
    for name, (expected, tolerance) in limits.items():
        assert flows[name]["westwood_form_ratio"] == pytest.approx(expected, abs=tolerance), name


@pytest.mark.long
def test_logwestwood_with_constant_alpha_follows_its_form(run: Run, db: Path) -> None:
    document = run(
        "repetitions=1", "duration=90s", "warmup=60s", scenario=FOLDER / "logwestwood.yaml"
    )
    flows = flows_of(document, "logwestwood")
    for flow in flows:
        shown = columns(db, document, flow["name"], "congestion_2", "congestion_3")
        assert set(shown["congestion_3"]) == {2}
        # Eq. (18): fixed point of (1 - p) (Wmax - W) / (alpha W) = p W Tq / RTT.
        wmax = float(shown["congestion_2"].mean())
        odds = flow["loss_ratio"] / (1 - flow["loss_ratio"])
        share = 2 * odds * flow["queueing_delay_mean_s"] / flow["rtt_mean_s"]
        form = (math.sqrt(1 + 4 * wmax * share) - 1) / (2 * share)
        window = flow["goodput_bps"] / 8 / 1448 * flow["rtt_mean_s"]
        assert window / form == pytest.approx(1.03, abs=0.11), flow["name"]
    # Wmax, which the form takes as given, depends on the loss as well: more than its inverse root.
    assert exponent(flows, "loss_ratio") == pytest.approx(-0.693, abs=0.176)
    assert mean(flows, "westwood_form_ratio") == pytest.approx(1.518, abs=0.356)


@pytest.mark.long
def test_fast_keeps_alpha_packets_of_each_flow_in_the_queue(run: Run, db: Path) -> None:
    fast = FOLDER / "fast.yaml"
    asked = ("matrix={}", "duration=40s", "flows.fast.count=2")
    document = run(*asked, scenario=fast)
    for flow in flows_of(document, "fast"):
        shown = columns(db, document, flow["name"], "congestion_3")["congestion_3"] / 256
        assert shown.mean() == pytest.approx(50, abs=1)
        assert flow["retransmitted_segments"] == 0
    queued = document["metrics"]["queue_delay_mean_s"] * 20e6 / 8 / 1514
    # The base RTT is that of the handshake's small frames. What a full segment takes longer counts
    # as queueing delay, so as many packets fewer wait.
    path = [IdleLink(100e6, 0.02), IdleLink(20e6, 0.01), IdleLink(100e6, 0.02)]
    segment_s = crossing_s(path, 1514) + crossing_s(path, ACK_BYTES)
    longer_s = segment_s - 2 * crossing_s(path, SYN_BYTES)
    assert queued == pytest.approx(100 - longer_s * 20e6 / 8 / 1514, abs=2)
    # A queue that cannot hold them drops, and every loss halves a window.
    document = run(*asked, "topology.bottleneck.queue.limit=50p", scenario=fast)
    assert mean(flows_of(document, "fast"), "retransmitted_segments") > 100
    assert document["metrics"]["queue_delay_mean_s"] * 20e6 / 8 / 1514 < 40


def test_ideal_tcp_follows_its_settings(run: Run, db: Path) -> None:
    document = run(*SHORT, scenario=FOLDER / "idealtcp.yaml")
    limits = {6: (0.877, 0.099), 12: (0.935, 0.051), 24: (0.970, 0.035)}
    flows = {flow["name"]: flow for flow in flows_of(document, "idealtcp")}
    for mbit, (expected, tolerance) in limits.items():
        flow, told = flows[f"told-{mbit}"], mbit * 1e6 * 0.04 / 8 / 1448
        ssthresh = columns(db, document, flow["name"], "snd_ssthresh_segments")
        assert set(ssthresh["snd_ssthresh_segments"]) == {math.floor(told)}
        # Fixed point of (1 - p) / W = p (W - told).
        odds = (1 - flow["loss_ratio"]) / flow["loss_ratio"]
        form = (told + math.sqrt(told**2 + 4 * odds)) / 2
        window = flow["goodput_bps"] / 8 / 1448 * flow["rtt_mean_s"]
        assert window / form == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("points", [2, 3])
def test_a_packet_pair_sets_ssthresh_to_the_bdp_and_avoids_the_first_losses(
    run: Run, db: Path, points: int
) -> None:
    scenario = FOLDER / "packet-pair.yaml"
    document = run(
        "matrix={}",
        "duration=5s",
        f"flows.one.congestion.parameters.packetpair={points}",
        scenario=scenario,
    )
    (flow,) = flows_of(document, "westwoodplus")
    ssthresh = columns(db, document, "one", "snd_ssthresh_segments")["snd_ssthresh_segments"]
    # 10 Mbit/s in frames of 1514 bytes, for the RTT of the handshake over idle links.
    path = [IdleLink(100e6, 0.02), IdleLink(10e6, 0.01), IdleLink(100e6, 0.02)]
    assert ssthresh[-1] == math.floor(10e6 / 8 / 1514 * 2 * crossing_s(path, SYN_BYTES)) == 82
    assert flow["retransmitted_segments"] == 0


def test_without_a_packet_pair_the_first_slow_start_overfills_the_queue(run: Run) -> None:
    document = run("matrix={}", "duration=5s", scenario=FOLDER / "packet-pair.yaml")
    (flow,) = flows_of(document, "westwoodplus")
    assert flow["retransmitted_segments"] > 100
