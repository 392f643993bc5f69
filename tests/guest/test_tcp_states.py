"""The guest's own TCP with each of our modules against a scripted peer, in virtual time.

Everything is held against the modules' formulas in double precision (peer/models.py), computed from
what was sent and acknowledged when. One boot of the guest serves all cases.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from guest.build import GuestKernel
from tests.guest.peer import boot, plan
from tests.guest.peer.asserted import (
    assert_open_before,
    assert_shown,
    assert_small_window,
    assert_ssthresh,
    assert_window,
    undone_ssthresh,
)
from tests.guest.peer.estimators import Estimator
from tests.guest.peer.follow import Followed, follow
from tests.guest.peer.models import MODELS
from tests.guest.peer.plan import CONTROL, Run, modules
from tests.guest.peer.replay import (
    CWR,
    DISORDER,
    LOSS,
    OPEN,
    RECOVERY,
    Mark,
    Trace,
    replay,
)

pytestmark = pytest.mark.guest

NAMES = [CONTROL, *sorted(modules())]
LOSSES = [*(plan.standard_run(name, "loss") for name in NAMES), plan.AGED]
TIMEOUTS = [*(plan.standard_run(name, "spurious timeout") for name in NAMES), plan.COUNTED_TIMEOUT]

LARGE = 518_000

Traced = Callable[[Run], tuple[Trace, Followed]]
Told = Callable[[str, str], tuple[Trace, Followed]]


@pytest.fixture(scope="module")
def answers(kernel: GuestKernel) -> dict[str, Any]:
    return boot.answers(kernel)


@pytest.fixture(scope="module")
def traced(answers: dict[str, Any]) -> Traced:
    """Return what happened in a run, and what should have by the formulas."""
    by_key = {str(run): run for run in plan.runs()}

    @functools.cache
    def traced(key: str) -> tuple[Trace, Followed]:
        record = answers["records"][key]
        assert record[-1][0] != "failed", record[-1][2]
        trace = replay(record)
        return trace, follow(trace, by_key[key].congestion, by_key[key].settings)

    return lambda run: traced(str(run))


@pytest.fixture(scope="module")
def case(traced: Traced) -> Told:
    """Return a congestion control's standard run of a case."""
    return lambda name, case: traced(plan.standard_run(name, case))


def test_every_module_has_its_formula() -> None:
    assert set(MODELS) == set(NAMES), "tests/guest/peer/models.py names each module's model"


@pytest.mark.parametrize("run", plan.runs(), ids=str)
def test_the_peer_and_the_kernel_agree_on_what_arrived(traced: Traced, run: Run) -> None:
    trace, _followed = traced(run)
    for ack in trace.acks():
        after = ack.after["delivered_segments"]
        assert after - ack.before["delivered_segments"] == ack.delivered
        assert after > 0


@pytest.mark.parametrize("run", [*LOSSES, *plan.counting_runs()], ids=str)
def test_the_third_duplicate_ack_starts_recovery(traced: Traced, run: Run) -> None:
    trace, followed = traced(run)
    assert_open_before(trace, followed, "warm")
    before = trace["warm"]
    for state in (trace["duplicate 1"], trace["duplicate 2"]):
        assert state.ca_state == DISORDER
        assert (state.window, state.ssthresh) == (before.window, before.ssthresh)
    third = followed.reductions[0]
    assert (third.kind, third.after) == (RECOVERY, trace["duplicate 3"])
    assert_ssthresh(third, run.congestion)
    hole = trace.acks(end="duplicate 3")[-1].acked_bytes
    assert trace.sent.count((hole, hole + trace.mss)) == 2
    assert third.after["total_retrans_segments"] == 1
    assert_shown(trace, followed, "duplicate 3", run.congestion)

    expected, recovered = followed.completed[0]
    assert recovered is trace["recovered"]
    assert expected.allows(recovered.window), (expected, recovered.window)
    assert recovered.window <= max(third.window, recovered.ssthresh) + 1
    assert recovered["total_retrans_segments"] == 1
    assert_shown(trace, followed, "recovered", run.congestion)


@pytest.mark.parametrize("run", LOSSES, ids=str)
def test_a_dsack_undoes_a_recovery(traced: Traced, run: Run) -> None:
    trace, followed = traced(run)
    before, undone = trace["before"], trace["undone"]
    second = followed.reductions[1]
    assert (second.kind, second.after) == (RECOVERY, trace["spurious 3"])
    assert_ssthresh(second, run.congestion)
    assert_shown(trace, followed, "spurious 3", run.congestion)
    assert second.after.window < before.window
    assert undone.ca_state == OPEN
    assert undone["dsack_dups"] == 1
    assert undone.window >= before.window
    assert_window(trace, followed, "undone")
    assert undone.ssthresh == undone_ssthresh(before, second)
    assert_shown(trace, followed, "undone", run.congestion)


def test_undo_restores_logwestwoods_and_tibets_own_state(case: Told, traced: Traced) -> None:
    trace, _followed = case("logwestwood", "loss")
    first, second = trace["duplicate 2"].window, trace["spurious 2"].window
    assert trace["before"].shown[2:] == (first, 2)
    assert trace["spurious 3"].shown[2:] == (second, 4)
    assert trace["undone"].shown[2:] == (first, 2)

    trace, _followed = traced(plan.AGED)
    rtt_min_us = [trace[mark].shown[1] for mark in ("warm", "before", "spurious 3", "undone")]
    assert rtt_min_us == [100_000, 50_000, 25_000, 50_000]


@pytest.mark.parametrize("name", NAMES)
def test_a_timestamp_undoes_a_recovery(case: Told, name: str) -> None:
    trace, followed = case(name, "eifel")
    before, undone = trace["before"], trace["undone"]
    assert_open_before(trace, followed, "before")
    (reduction,) = followed.reductions
    assert_ssthresh(reduction, name)
    assert undone.ca_state == OPEN
    assert (undone["total_retrans_segments"], undone["dsack_dups"]) == (1, 0)
    assert undone.window >= before.window
    assert_window(trace, followed, "undone")
    assert undone.ssthresh == undone_ssthresh(before, reduction)
    assert_shown(trace, followed, "undone", name)


@pytest.mark.parametrize("name", NAMES)
def test_a_retransmission_timeout_sets_window_and_threshold(case: Told, name: str) -> None:
    trace, followed = case(name, "timeout")
    assert_open_before(trace, followed, "warm")
    (reduction,) = followed.reductions
    assert (reduction.kind, reduction.after) == (LOSS, trace["timeout"])
    assert_ssthresh(reduction, name)
    after = reduction.after
    # All was lost, so nothing was in flight; the one that the window allowed is out already.
    assert (after.window, after.in_flight, after["retrans_segments"]) == (1, 1, 1)
    assert_shown(trace, followed, "timeout", name)

    slow = [ack for ack in trace.acks("timeout") if ack.before.window < after.ssthresh]
    assert slow[-1].after.window >= after.ssthresh
    for ack in slow:
        delivered = min(ack.delivered, 1) if name == "newreno_ns2" else ack.delivered
        grown = min(ack.before.window + delivered * ack.advanced, after.ssthresh)
        assert ack.after.window == grown
    assert_window(trace, followed, "recovered")
    assert_shown(trace, followed, "recovered", name)


@pytest.mark.parametrize("run", TIMEOUTS, ids=str)
def test_a_spurious_timeout_is_undone(traced: Traced, run: Run) -> None:
    trace, followed = traced(run)
    before, undone = trace["before"], trace["undone"]
    (reduction,) = followed.reductions
    assert (reduction.kind, reduction.after.window) == (LOSS, 1)
    assert_ssthresh(reduction, run.congestion)
    assert_shown(trace, followed, "timeout", run.congestion)
    if run is plan.COUNTED_TIMEOUT:
        assert reduction.after.shown[2:] == (before.window, 2)
        assert undone.shown[2:] == before.shown[2:] == (0, 2)
    assert undone.ca_state == OPEN
    assert undone.window >= before.window
    assert_window(trace, followed, "undone")
    assert undone.ssthresh == undone_ssthresh(before, reduction)
    assert_shown(trace, followed, "undone", run.congestion)


# What halves its window here, or has forgotten the path: CSFQ soon follows a low rate.
LOSING_CONTROLS = {CONTROL, "newreno_ns2", "libra", "fast", "csfq"}
SMALL_CASES = ("small window", "small window mark")
SMALL_WINDOWS = [
    *(plan.standard_run(name, case) for name in NAMES for case in SMALL_CASES),
    *plan.opposite_clamp_runs(),
]


@pytest.mark.parametrize("run", SMALL_WINDOWS, ids=str)
def test_the_window_rises_to_ssthresh_only_where_the_paper_says_so(
    traced: Traced, run: Run
) -> None:
    """TIBET and Ideal TCP: if (cwnd > ssthresh) cwnd = ssthresh. The others: cwnd = ssthresh."""
    trace, followed = traced(run)
    loss, recovered = assert_small_window(trace, followed, run.congestion)
    highest = max(*loss.during, recovered.window - 1)  # the last ACK may add one
    if recovered.ssthresh <= loss.window:
        assert run.congestion in LOSING_CONTROLS
        assert highest <= loss.window
    elif loss.is_conditional:
        assert highest <= loss.window
        assert recovered.window >= loss.window
    else:
        assert max(loss.during) > loss.window, "the kernel grows the window during recovery"
        assert highest <= recovered.ssthresh
        assert recovered.window >= recovered.ssthresh


@pytest.mark.parametrize(
    "run", [run for run in plan.runs() if run.case != plan.PACED.case], ids=str
)
def test_no_reduction_raises_the_window_beyond_the_papers(traced: Traced, run: Run) -> None:
    _trace, followed = traced(run)
    for reduction in followed.reductions:
        top = reduction.window
        if not reduction.is_conditional:
            top = max(top, reduction.after.ssthresh)
        assert max(reduction.during, default=0) <= top, reduction


@pytest.mark.parametrize("name", NAMES)
def test_a_timeout_in_recovery_has_the_formulas_ssthresh(case: Told, name: str) -> None:
    trace, followed = case(name, "timeout in recovery")
    _first, loss = followed.reductions
    assert loss.kind == RECOVERY
    assert trace["timeout"] in loss.ended
    assert (trace["timeout"].ca_state, trace["timeout"].window) == (LOSS, 1)
    assert_ssthresh(loss, name)
    assert_window(trace, followed, "recovered")
    assert_shown(trace, followed, "recovered", name)


@pytest.mark.parametrize("name", NAMES)
def test_ecn_reduces_once_a_window_and_retransmits_nothing(case: Told, name: str) -> None:
    trace, followed = case(name, "ecn")
    assert_open_before(trace, followed, "warm")
    assert [reduction.kind for reduction in followed.reductions] == [CWR, CWR]
    # The peer echoes the mark until it hears CWR, a round trip later.
    assert sum(ack.marked for ack in trace.acks()) > len(followed.reductions) * 10
    pairs = zip(("first", "second"), followed.reductions, followed.completed, strict=True)
    for order, reduction, (expected, reduced) in pairs:
        assert reduction.after is trace[f"{order} mark"]
        assert reduced is trace[f"{order} reduced"]
        assert_ssthresh(reduction, name)
        assert_shown(trace, followed, f"{order} mark", name)
        assert reduced in reduction.ended
        assert expected.allows(reduced.window), (expected, reduced.window)
    assert trace.acks()[-1].after["total_retrans_segments"] == 0
    assert len(trace.sent) == len(set(trace.sent))


@pytest.mark.parametrize("name", NAMES)
def test_pauses_raise_neither_window_nor_estimate(case: Told, name: str) -> None:
    trace, followed = case(name, "idle")
    before, restarted = trace["before"], trace["restarted"]
    assert_shown(trace, followed, "warm", name)
    assert_shown(trace, followed, "before", name)
    assert restarted.window <= before.window
    assert_window(trace, followed, "trickle")
    assert trace["trickled"].window == trace["trickle"].window
    if issubclass(MODELS[name], Estimator):
        assert restarted.shown[0] == before.shown[0]
        assert_shown(trace, followed, "trickle", name)
        assert trace["trickled"].shown[0] == trace["trickle"].shown[0]


@pytest.mark.parametrize("name", NAMES)
def test_acks_of_whole_windows_are_samples(case: Told, name: str) -> None:
    trace, followed = case(name, "whole windows")
    assert_window(trace, followed, "aggregated")
    assert_shown(trace, followed, "aggregated", name)
    if issubclass(MODELS[name], Estimator):
        assert trace["aggregated"].shown[0] > 200_000


@pytest.mark.parametrize("name", NAMES)
def test_growth_and_loss_follow_the_formulas_at_518000_segments(case: Told, name: str) -> None:
    trace, followed = case(name, "large window")
    assert trace["begin"].window == trace["begin"].ssthresh == LARGE
    for mark in ("first", "second"):
        assert trace[mark].ca_state == OPEN
        assert_window(trace, followed, mark)
        assert_shown(trace, followed, mark, name)
    (reduction,) = followed.reductions
    assert (reduction.kind, reduction.after) == (RECOVERY, trace["duplicate 3"])
    assert reduction.after.ssthresh > 0xFFFF
    assert_ssthresh(reduction, name)
    ((expected, recovered),) = followed.completed
    assert expected.allows(recovered.window), (expected, recovered.window)
    assert recovered.window <= reduction.window + 1
    assert_window(trace, followed, "climbed")
    assert_shown(trace, followed, "climbed", name)
    assert trace.acks()[-1].after["total_retrans_segments"] == 1


def test_reno_at_518000_segments_grows_by_one_a_round_trip(case: Told) -> None:
    trace, _followed = case(CONTROL, "large window")
    acks = trace.acks(end="duplicate 1")
    delivered = list(itertools.accumulate(ack.delivered for ack in acks))
    windows = [ack.after.window for ack in acks]
    first, second = (delivered[windows.index(LARGE + by)] for by in (1, 2))
    assert LARGE <= first < LARGE + 5_000
    assert LARGE + 1 <= second - first <= LARGE + 5_000


def test_logwestwood_grows_a_large_window_by_its_formula(case: Told) -> None:
    """Stretch ACKs of 5000 segments take the step of their first: half a percent too much."""
    trace, _followed = case("logwestwood", "large window")
    wmax, alpha = trace["recovered"].shown[2:]
    begin = window = float(trace["recovered"].window)
    climb = trace.acks("recovered", "climbed")
    for _segment in range(sum(ack.delivered for ack in climb)):
        window += max((wmax - window) / (alpha * window), 1 / window)
    assert window - begin > 10_000
    grown = trace["climbed"].window - begin
    assert grown == pytest.approx(window - begin, rel=0.01)


@pytest.mark.parametrize("run", plan.halving_runs(), ids=str)
def test_logwestwoods_alpha_follows_real_windows(traced: Traced, run: Run) -> None:
    """Wmax has a fraction: a loss at the same whole segments comes before W reaches it."""
    trace, followed = traced(run)
    first, second, third = followed.reductions
    assert first.window == second.window < third.window
    for mark in ("first 3", "second 3", "begun", "a round trip later", "climbed", "third 3"):
        assert_shown(trace, followed, mark, run.congestion)
    begun, later = trace["begun"], trace["a round trip later"]
    assert later.window < second.window, "a climb of more than a round trip"
    alpha = [state.shown[3] for state in (begun, later, trace["climbed"], trace["third 3"])]
    assert alpha == {0: [4, 4, 2, 2], 1: [4, 4, 4, 2], 2: [4, 2, 2, 2]}[run.settings["halving"]]


def test_logwestwood_does_not_halve_alpha_without_a_climb(traced: Traced) -> None:
    """Westwood+'s ssthresh is above Wmax here: the window is raised to it, and alpha stays."""
    trace, followed = traced(plan.NO_CLIMB)
    _timeout, loss = followed.reductions
    assert trace["small"].shown[3] == 2
    assert trace["duplicate 3"].shown[2:] == (loss.window, 4)
    assert trace["recovered"].window > loss.window
    assert trace["recovered"].shown[2:] == (loss.window, 4)
    assert_shown(trace, followed, "recovered", "logwestwood")


@pytest.mark.parametrize("run", plan.estimate_runs(), ids=str)
def test_tibet_filters_the_other_stream_on_request(traced: Traced, run: Run) -> None:
    trace, followed = traced(run)
    marks = [event.name for event in trace.events if isinstance(event, Mark)]
    assert trace[marks[-1]].shown[0] > 200_000
    for mark in marks:
        assert_shown(trace, followed, mark, run.congestion)


def test_libra_sends_at_random_times_within_a_round_trip(traced: Traced) -> None:
    """Gaps are 1/32 to 63/32 of Linux's own; the core lets the first ten segments go.

    An ACK draws one gap for all that leaves until the next, from as many draws as segments.
    """
    trace, _followed = traced(plan.PACED)
    window = trace["sent"].window
    gaps_us = [late - early for early, late in itertools.pairwise(trace.sent_us)]
    first, clocked = gaps_us[9 : window - 1], gaps_us[window:]
    linux_us = 100_000 / window / 1.2
    assert max(first) - min(first) <= 1
    assert sum(first) / len(first) == pytest.approx(linux_us, rel=0.35)
    clock_us = 3_000  # of the ACKs, each for a segment
    assert len(clocked) > 300
    assert sum(clocked) / len(clocked) == pytest.approx(clock_us, rel=0.05)
    assert all(linux_us / 32 - 1 <= gap_us <= 2 * clock_us for gap_us in clocked)
    late = sum(gap_us > clock_us for gap_us in clocked)
    assert len(clocked) / 10 < late < len(clocked) / 2
    assert min(clocked) < clock_us / 2
    assert max(clocked) > clock_us * 1.4


@pytest.mark.parametrize("name", sorted(modules()))
def test_values_out_of_range_are_refused_and_others_read_back(
    answers: dict[str, Any], name: str
) -> None:
    module = modules()[name]
    stem = module.source.stem
    loads = {asked: got for source, asked, *got in answers["refused"] if source == stem}
    written: dict[tuple[str, str], list[str]] = {}
    for path, text, *got in answers["written"]:
        written.setdefault((path, text), got)
    for parameter in module.parameters.values():
        path = plan.place(module, parameter)
        default = str(parameter.default or 0)
        for text, error in plan.refused(parameter).items():
            assert written[path, text] == [error, default], (path, text)
            if parameter.scope == "kernel":
                assert loads[f"{parameter.name}={text}"] == [error, False]
        for text in plan.taken(parameter):
            assert written[path, text] == ["", text], (path, text)


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_in_use_cannot_be_unloaded_and_its_connection_continues(
    answers: dict[str, Any], name: str
) -> None:
    answer = answers["in_use"][name]
    assert answer["refusals"] == ["EAGAIN"]
    trace = replay(answer["record"])
    assert_window(trace, follow(trace, name, {}), "went on")
    assert len(trace.acks("warm", "went on")) > 20
    assert (answer["last"], answer["loaded"]) == ("", False)
