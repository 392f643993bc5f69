"""A module with cong_control moves its window as the kernel moves that of all others.

Only Libra has the hook, for its pacing rate. A copy of it without the hook leaves recovery, undo
and pauses to the kernel. Both get the same segments and the same ACKs, without Libra's own pacing.
So every window and every segment must be the same. Faults in cc_control.h must make a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from kmods import build
from kmods.catalogue import FOLDER
from tests.guest.peer import boot, plan
from tests.guest.peer.plan import Run

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
    (".cwnd_event\t= cc_control_event,", ""),
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
        ((".cwnd_event\t= cc_control_event,", ""),),
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


def _changed(folder: Path, texts: Texts) -> Path:
    """Copy Libra and its headers with other texts; each must be in the sources."""
    sources = {
        path.relative_to(FOLDER): path.read_text(encoding="utf-8")
        for path in build.sources()
        if path.suffix != ".c" or path.name == "tcp_libra.c"
    }
    for old, new in texts:
        holding = [path for path, text in sources.items() if old in text]
        assert holding, f"the module has no {old!r}: adapt the test"
        for path in holding:
            sources[path] = sources[path].replace(old, new)
    for path, text in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


Records = Callable[[Texts], dict[str, Any]]


@pytest.fixture(scope="module")
def records(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Records:
    def records(texts: Texts) -> dict[str, Any]:
        sources = _changed(tmp_path_factory.mktemp("libra"), texts)
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


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_a_difference(
    records: Records, of_the_kernel: dict[str, Any], name: str
) -> None:
    case, texts = FAULTS[name]
    key = str(plan.standard_run("libra", case))
    assert records(texts)[key] != of_the_kernel[key]
