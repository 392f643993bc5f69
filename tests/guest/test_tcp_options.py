"""TCP options of hosts, seen in what the kernel's sockets then did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.recording.model import RECEIVER, SENDER
from results.store.store import Store
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

TIMESTAMPS, SACK, ECN = 1, 2, 8  # TCPI_OPT_* of include/uapi/linux/tcp.h
SHORT = ("duration=4s", "warmup=1s", "sample.tcp=1ms")


def last(run: Run, db: Path, *overrides: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the quickstart; return the last samples of the first flow's sender and receiver."""
    document = run(*SHORT, *overrides)
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        sender, receiver = (
            {name: column[-1] for name, column in stored.tcp(0, end).items()}
            for end in (SENDER, RECEIVER)
        )
    return sender, receiver


def test_options_that_are_not_given_stay_linux_defaults(run: Run, db: Path) -> None:
    document = run("flows=[{name: one, group: a, congestion: reno}]", "duration=12s", "warmup=1s")
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        sender, receiver = stored.tcp(0, SENDER), stored.tcp(0, RECEIVER)
    assert sender["options"][-1] & (TIMESTAMPS | SACK | ECN) == TIMESTAMPS | SACK
    assert sender["snd_mss_bytes"][-1] == 1448
    # Delayed ACKs, once slow start is over: in it segments with PSH are acknowledged at once.
    later = receiver["time_ns"] >= 6_000_000_000
    acks, segments = (np.ptp(receiver[key][later]) for key in ("segs_out", "data_segs_in"))
    assert 0.5 <= acks / segments < 0.53


def test_options_take_effect_on_the_wire(run: Run, db: Path) -> None:
    off = "tcp={sack: false, timestamps: false, ecn: true, mss: 1000, delayed_ack: false}"
    sender, receiver = last(run, db, off)
    assert sender["options"] & (TIMESTAMPS | SACK | ECN) == ECN
    assert sender["snd_mss_bytes"] == 1000
    # Every segment is acknowledged at once, and only the handshake comes on top.
    assert abs(int(receiver["segs_out"]) - int(receiver["data_segs_in"])) <= 3


@pytest.mark.parametrize("segments", [3, 10, 30])
def test_the_initial_window_is_as_given(run: Run, db: Path, segments: int) -> None:
    document = run(*SHORT, f"tcp={{initial_window: {segments}}}", "start_jitter=0ms")
    with Store.open_read_only(db) as store:
        columns = store.load(document["id"]).tcp(0, SENDER)
    # 100 ms for the handshake, and as much until the first ACK of data.
    before_any_ack = np.searchsorted(columns["time_ns"], 190_000_000)
    assert columns["data_segs_out"][before_any_ack] == segments
    assert columns["snd_cwnd_segments"][before_any_ack] == segments


def test_buffers_and_the_minimum_timeout_are_as_given(run: Run, db: Path) -> None:
    sender, _receiver = last(run, db, "tcp={send_buffer: 64kB, rto_min: 700ms}")
    assert sender["skmem_sndbuf_bytes"] <= 64_000
    assert sender["rto_us"] >= 700_000
    _sender, receiver = last(run, db, "tcp={receive_buffer: 50kB}")
    assert receiver["skmem_rcvbuf_bytes"] <= 50_000


def test_the_papers_newreno_detects_losses_by_duplicate_acks_without_sack(
    run: Run, db: Path
) -> None:
    document = run(
        "duration=20s", "warmup=1s", "flows.westwood.tcp={profile: newreno}",
        "topology.bottleneck.loss=0.5%",
    )  # fmt: skip
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        ours, other = (stored.tcp(flow, SENDER) for flow in (0, 1))
        assert not ours["options"][-1] & SACK
        assert not ours["sacked_segments"].any() or ours["reordering_segments"].max() == 3
        assert ours["reordering_segments"].max() == 3
        assert ours["total_retrans_segments"][-1] > 3
        assert other["options"][-1] & SACK
        told = {
            (n["host"], n["sysctl"]): n["value"] for n in stored.provenance["namespaces"]["set"]
        }
    assert told["a_src0", "net.ipv4.tcp_recovery"] == 0
    assert ("b_src0", "net.ipv4.tcp_recovery") not in told


@pytest.mark.parametrize("segments", [1, 20])
def test_the_initial_slow_start_threshold_is_as_given(run: Run, db: Path, segments: int) -> None:
    told = f"flows.westwood.tcp={{initial_ssthresh: {segments}, rto_min: 250ms}}"
    document = run(*SHORT, "start_jitter=0ms", "topology.bottleneck.queue.limit=1000p", told)
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        ours, other = (stored.tcp(flow, SENDER) for flow in (0, 1))
        assert stored.provenance["sysctls"]["every_host"]["net.ipv4.tcp_no_metrics_save"] == "1"
    begun = ours["time_ns"] > 101_000_000  # the handshake takes a round trip
    begun &= ours["total_retrans_segments"] == 0  # a timeout while the queue grows lowers it
    assert np.count_nonzero(begun) >= 5
    assert set(ours["snd_ssthresh_segments"][begun]) == {segments}
    assert np.isnan(other["snd_ssthresh_segments"][other["time_ns"] > 100_000_000][0])  # no end
    assert ours["rto_us"].min() >= 250_000  # the other locked metric
    # In congestion avoidance from there on: a segment, then, a round trip (RFC 5681 section 3.1).
    grown = ours["snd_cwnd_segments"]
    level = np.argmax(grown >= max(segments, 10))
    later = np.searchsorted(ours["time_ns"], ours["time_ns"][level] + 1_000_000_000)
    assert 5 <= grown[later] - grown[level] <= 11


def test_each_connection_of_either_side_begins_with_the_threshold(run: Run, db: Path) -> None:
    document = run(
        *SHORT, "topology.bottleneck.loss=20%", "tcp={initial_ssthresh: 7, initial_window: 3}",
        "flows=[{name: client, group: a, congestion: reno, traffic:"
        " {kind: uploads, files: [20kB]}},"
        " {name: server, group: b, congestion: reno, direction: reverse, traffic:"
        " {kind: request-response, response: 100kB}}]",
    )  # fmt: skip
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        for flow in (0, 1):
            columns = stored.tcp(flow, SENDER)
            found = columns["snd_ssthresh_segments"]
            # It is without end until the handshake is done. A loss halves the window, and slow
            # start ends at 7 segments: no later threshold is larger.
            assert np.isfinite(found).sum() > 100
            assert np.nanmax(found) == 7
