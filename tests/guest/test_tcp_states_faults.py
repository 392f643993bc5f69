"""The tests of test_tcp_states.py and test_tcp_samples.py notice faults that the modules once had.

Each fault is put back into a copy of the sources. The guest's TCP then runs with the faulty
modules, and the test that holds them against the paper must fail.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from guest.build import GuestKernel
from tests.guest import test_tcp_samples as samples
from tests.guest import test_tcp_states as states
from tests.guest.peer import asserted, boot, plan
from tests.guest.peer.follow import Followed, follow
from tests.guest.peer.plan import Run
from tests.guest.peer.replay import Trace, replay
from tests.guest.peer.sources import changed

pytestmark = [pytest.mark.guest, pytest.mark.long]

MODULES = (
    "tcp_csfq.c",
    "tcp_logwestwood.c",
    "tcp_tibet.c",
    "tcp_westwood1.c",
    "tcp_westwoodplus.c",
)


@dataclass(frozen=True)
class Fault:
    """A fault: texts of the sources and what stands for them, and the run that must show it.

    ``file`` is the only one in which the texts are replaced.
    """

    texts: tuple[tuple[str, str], ...]
    run: Run
    noticed_by: Callable[[states.Traced, Run], None]
    file: str | None = None


def _run_of(name: str, runs: list[Run]) -> Run:
    """Return the last of these runs with a module: that with its defaults, if there are several."""
    return [run for run in runs if run.congestion == name][-1]


FAULTS = {
    "Wmax and W are compared in whole segments": Fault(
        (("if (liad_window(l, window) < liad_wmax(l)) {", "if (window < l->wmax) {"),),
        plan.halving_runs()[0],
        states.test_logwestwoods_alpha_follows_real_windows,
    ),
    "alpha is halved without a climb": Fault(
        (("l->climb = LIAD_ABOVE;", "l->climb = LIAD_ABOVE;\n\t\tliad_halve(l, rules);"),),
        plan.NO_CLIMB,
        lambda traced, _run: states.test_logwestwood_does_not_halve_alpha_without_a_climb(traced),
    ),
    "cwnd is kept below ssthresh after recovery, but not during it": Fault(
        (
            (
                "flow->ssthresh = ssthresh;\n\treturn window;",
                "flow->ssthresh = window;\n\treturn ssthresh;",
            ),
            (
                "tcp_sk(sk)->snd_ssthresh = flow->ssthresh;",
                "tcp_snd_cwnd_set(tcp_sk(sk), min(tcp_snd_cwnd(tcp_sk(sk)), flow->ssthresh));",
            ),
        ),
        plan.standard_run("tibet", "small window"),
        states.test_no_reduction_raises_the_window_beyond_the_papers,
    ),
    "Westwood+ does not raise cwnd to ssthresh": Fault(
        (("CC_PARAM(clamp_cwnd, 0, 0, 1", "CC_PARAM(clamp_cwnd, 1, 0, 1"),),
        plan.standard_run("westwoodplus", "small window"),
        states.test_the_window_rises_to_ssthresh_only_where_the_paper_says_so,
        "tcp_westwoodplus.c",
    ),
    "the first ACKs are packet pairs wherever they come from": Fault(
        (
            (
                "if (!ack->valid || (p->count && !pp_follows(p, ack)))\n\t\tpp_refuse(p);\n"
                "\tif (!ack->valid)\n\t\treturn 0;",
                "",
            ),
        ),
        plan.pair_runs()[0],
        samples.test_packet_pairs_wait_for_acks_of_one_flight,
    ),
    "RTTmin ignores the handshake": Fault(
        ((".rtt_min_us = handshake ? tcp_min_rtt(tcp_sk(sk)) : U32_MAX", ".rtt_min_us = U32_MAX"),),
        _run_of("tibet", plan.handshake_runs()),
        samples.test_rtt_min_begins_with_the_handshake_or_with_data,
    ),
    "a segment below the MSS counts as a full one": Fault(
        (
            (
                "return tp->snd_una + tp->sacked_out * tp->mss_cache;",
                "return tp->delivered * tp->mss_cache;",
            ),
        ),
        _run_of("csfq", plan.sample_runs("short segments")),
        samples.test_segments_below_the_mss_count_as_they_are,
    ),
    # As when in_ack_event samples in a kernel that counts only after it, here in one module.
    "a sample has the data of the ACK before": Fault(
        (
            (
                "u32 delivered = cc_delivered(sk);",
                'u32 delivered = cc_delivered(sk) - !strcmp(KBUILD_MODNAME, "tcp_westwood1") *'
                " ack->pkts_acked * tcp_sk(sk)->mss_cache;",
            ),
        ),
        plan.standard_run("westwood1", "loss"),
        lambda traced, run: asserted.assert_shown(*traced(run), "warm", "westwood1"),
    ),
    "a request ends a sample of a connection with nothing on the way": Fault(
        (
            (
                "static u32 westwoodplus_ssthresh(",
                "static void westwoodplus_any(struct sock *sk, u32 flags)\n{\n"
                "\tconst struct ack_sample ack = { .pkts_acked = 1 };\n\n"
                "\twestwoodplus_pkts_acked(sk, &ack);\n}\n\nstatic u32 westwoodplus_ssthresh(",
            ),
            (
                ".pkts_acked\t= westwoodplus_pkts_acked,",
                ".pkts_acked = cc_flow_pkts_acked, .in_ack_event = westwoodplus_any,",
            ),
        ),
        plan.sample_runs("requests")[0],
        samples.test_a_request_does_not_make_a_pause_a_sample,
        "tcp_westwoodplus.c",
    ),
    "without SACK a duplicate ACK's segment is the next ACK's": Fault(
        (("if (tcp_is_reno(tp) && !ack->pkts_acked)", "if (false)"),),
        _run_of("csfq", samples.NO_SACK),
        samples.test_duplicate_acks_without_sack_are_samples_of_their_own_time,
    ),
}


@pytest.fixture(scope="module")
def traced(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> states.Traced:
    """Return what happens in a run with the faulty modules, and what should by the papers."""
    changes = [(*texts, fault.file) for fault in FAULTS.values() for texts in fault.texts]
    sources = changed(tmp_path_factory.mktemp("faulty"), MODULES, changes)
    runs = [fault.run for fault in FAULTS.values()]
    answers = boot.answers(kernel, plan.document_of(runs), sources)

    @functools.cache
    def traced(key: str) -> tuple[Trace, Followed]:
        run = next(run for run in runs if str(run) == key)
        trace = replay(answers["records"][key])
        return trace, follow(trace, run.congestion, run.settings)

    return lambda run: traced(str(run))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_is_put_back_is_noticed(traced: states.Traced, name: str) -> None:
    fault = FAULTS[name]
    with pytest.raises(AssertionError):
        fault.noticed_by(traced, fault.run)
