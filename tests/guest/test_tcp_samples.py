"""What our modules take from single ACKs: packet pairs, bytes, round-trip times.

The guest's TCP runs against a scripted peer, as in test_tcp_states.py. All is held against the
models in double precision (peer/models.py).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

from guest.build import GuestKernel
from tests.guest import test_tcp_states as states
from tests.guest.peer import asserted, boot, plan
from tests.guest.peer.follow import Followed, follow
from tests.guest.peer.plan import Run
from tests.guest.peer.replay import Trace, replay
from tests.guest.peer.windows import PacketPairs

pytestmark = pytest.mark.guest

UNLIMITED = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH: no ssthresh was set yet."""

# Westwood 3 is left out: its sample also needs the window, which is then that of the next ACK.
NO_SACK = [run for run in plan.sample_runs("no SACK") if run.congestion != "westwood3"]
RUNS = [
    *plan.pair_runs(),
    *plan.sample_runs("short segments"),
    *plan.sample_runs("requests"),
    *NO_SACK,
    *plan.handshake_runs(),
]


@pytest.fixture(scope="module")
def traced(kernel: GuestKernel) -> states.Traced:
    """Return what happened in a run, and what should have by the formulas."""
    answers: dict[str, Any] = boot.answers(kernel, plan.document_of(RUNS))

    @functools.cache
    def traced(key: str) -> tuple[Trace, Followed]:
        record = answers["records"][key]
        assert record[-1][0] != "failed", record[-1][2]
        run = next(run for run in RUNS if str(run) == key)
        trace = replay(record)
        return trace, follow(trace, run.congestion, run.settings)

    return lambda run: traced(str(run))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_the_peer_and_the_kernel_agree_on_what_arrived(traced: states.Traced, run: Run) -> None:
    states.test_the_peer_and_the_kernel_agree_on_what_arrived(traced, run)


@pytest.mark.parametrize("run", plan.pair_runs(), ids=str)
def test_packet_pairs_wait_for_acks_of_one_flight(traced: states.Traced, run: Run) -> None:
    """Responses give nothing: their ACKs are a round trip or a delayed ACK apart."""
    trace, followed = traced(run)
    assert trace["responded"].ssthresh == UNLIMITED
    pairs, rtt_min_us = PacketPairs(run.settings["packetpair"]), trace.handshake_us
    completing = None
    for ack in trace.acks():
        rtt_min_us = min(rtt_min_us, ack.rtt_us or rtt_min_us)
        pairs.ack(ack)
        if pairs.rate:
            completing = ack
            break
    assert completing is not None
    assert pairs.refused > 5
    if run.congestion == "libra":
        assert trace["responded"].shown[0] == 0, "C is not known yet"
        asserted.assert_shown(trace, followed, "warm", "libra")
        return
    expected = pairs.rate * rtt_min_us / 1e6 / trace.mss
    assert expected > 10
    assert completing.after.ssthresh == math.floor(expected)
    if run.congestion in ("westwood1", "csfq"):
        assert completing.after.shown[3] == pairs.refused


@pytest.mark.parametrize("run", plan.sample_runs("short segments"), ids=str)
def test_segments_below_the_mss_count_as_they_are(traced: states.Traced, run: Run) -> None:
    trace, followed = traced(run)
    assert trace["short"].shown[0] > 50_000
    asserted.assert_shown(trace, followed, "short", run.congestion)


@pytest.mark.parametrize("run", plan.sample_runs("requests"), ids=str)
def test_a_request_does_not_make_a_pause_a_sample(traced: states.Traced, run: Run) -> None:
    trace, followed = traced(run)
    for mark in ("asked", "warm"):
        asserted.assert_shown(trace, followed, mark, run.congestion)
    if run.congestion == "westwoodplus":
        assert trace["asked"].shown[0] == 0, "no response takes a round trip"


@pytest.mark.parametrize("run", NO_SACK, ids=str)
def test_duplicate_acks_without_sack_are_samples_of_their_own_time(
    traced: states.Traced, run: Run
) -> None:
    trace, followed = traced(run)
    for mark in ("warm", "duplicate 2", "duplicate 3", "recovered"):
        asserted.assert_shown(trace, followed, mark, run.congestion)
    asserted.assert_ssthresh(followed.reductions[0], run.congestion)


@pytest.mark.parametrize("run", plan.handshake_runs(), ids=str)
def test_rtt_min_begins_with_the_handshake_or_with_data(traced: states.Traced, run: Run) -> None:
    trace, followed = traced(run)
    assert trace.handshake_us == 60_000
    assert trace["warm"].shown[1] == (60_000 if run.settings["handshake_rtt"] else 100_000)
    asserted.assert_shown(trace, followed, "duplicate 3", run.congestion)
    asserted.assert_ssthresh(followed.reductions[0], run.congestion)
