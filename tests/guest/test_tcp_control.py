"""A module with cong_control moves its window as the kernel moves that of all others.

Only Libra has the hook, for its pacing rate. A copy of it without the hook leaves recovery, undo
and pauses to the kernel. Both get the same segments and the same ACKs, without Libra's own pacing.
So every window and every segment must be the same. Faults in cc_control.h must make a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from guest.build import GuestKernel
from tests.guest.peer import boot, plan
from tests.guest.peer.plan import Run
from tests.guest.peer.sources import changed

pytestmark = pytest.mark.guest

Texts = tuple[tuple[str, str], ...]

WITHOUT_THE_HOOK: Texts = (
    ("static void libra_cong_control(", "static void __maybe_unused libra_cong_control("),
    (
        "static u32 libra_ssthresh(",
        "static void libra_cong_avoid(struct sock *sk, u32 ack, u32 acked)\n{\n"
        "\tlibra_grow(sk, acked);\n}\n\nstatic u32 libra_ssthresh(",
    ),
    (".cong_control\t= libra_cong_control,", ".cong_avoid\t= libra_cong_avoid,"),
    ("static void libra_set_state(", "static void __maybe_unused libra_set_state("),
    (".set_state\t= libra_set_state,", ""),
    ("CC_CWND_EVENT(cc_control_event),", ""),
)
FAULTS: dict[str, tuple[str, Texts]] = {
    "recovery sends a segment for each delivered": (
        "loss",
        (("allowed = (s64)div64_u64(due, p->window) - p->sent;", "allowed = p->newly;"),),
    ),
    "a clean ACK below ssthresh adds nothing": (
        "losses",
        (("allowed + p->clean", "allowed"),),
    ),
    "cwnd stays where recovery left it": (
        "short recovery",
        (("tp->undo_marker) {", "false) {"),),
    ),
    "a timer that begins recovery reduces nothing": (
        "quiet loss",
        (("if (state == TCP_CA_Recovery && !control->in_ack)", "if (false)"),),
    ),
    "cwnd stays during a pause": (
        "long pause",
        (("CC_CWND_EVENT(cc_control_event),", ""),),
    ),
    "duplicate ACKs raise cwnd": (
        "loss",
        (("return control->in_order;", "return true;"),),
    ),
}


OWN_CASES = ("losses", "quiet loss", "short recovery", "long pause")
"""Cases in which the faults make a difference; the formulas' tests do not need them."""


def _runs() -> list[Run]:
    return [plan.standard_run("libra", case) for case in (*plan.CASES, *OWN_CASES)]


Records = Callable[[Texts], dict[str, Any]]


@pytest.fixture(scope="module")
def records(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Records:
    def records(texts: Texts) -> dict[str, Any]:
        changes = [(*text, None) for text in texts]
        sources = changed(tmp_path_factory.mktemp("libra"), ["tcp_libra.c"], changes)
        found: dict[str, Any] = boot.answers(kernel, plan.document_of(_runs()), sources)["records"]
        return found

    return records


@pytest.fixture(scope="module")
def of_the_kernel(records: Records) -> dict[str, Any]:
    """Return what happens to Libra if it leaves the window to the kernel."""
    return records(WITHOUT_THE_HOOK)


def test_the_window_is_as_if_the_kernel_moved_it(
    records: Records, of_the_kernel: dict[str, Any]
) -> None:
    own = records(())
    assert own.keys() == of_the_kernel.keys()
    assert len(own) > 10
    for key, record in own.items():
        assert record[-1][0] != "failed", record[-1]
        assert record == of_the_kernel[key], key


ALWAYS = "a timer that begins recovery reduces nothing"
"""The fault that ``make test`` puts in; ``make test-long`` puts in the others."""


@pytest.mark.parametrize(
    "name",
    [name if name == ALWAYS else pytest.param(name, marks=pytest.mark.long) for name in FAULTS],
)
def test_a_fault_makes_a_difference(
    records: Records, of_the_kernel: dict[str, Any], name: str
) -> None:
    case, texts = FAULTS[name]
    key = str(plan.standard_run("libra", case))
    assert records(texts)[key] != of_the_kernel[key]
