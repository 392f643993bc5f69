"""Tests of a kernel's own in guests: small ones that pass, fail, hang and lack something."""

from __future__ import annotations

import pytest

from guest.build import GuestKernel
from guest.selftests import SELFTESTS, FolderLists, Selftests
from orchestrator.execution.kernel_tests.model import Outcome, Result
from orchestrator.execution.kernel_tests.running import Selection, run_tests

pytestmark = pytest.mark.guest

WALL_S, SHORT_WALL_S = 60.0, 3.0
LIMIT_S = 30
SPINS = "spins.py"
TESTS = {
    "good.sh": """\
set -e
test "$(id -u)" = 0
ip link add left type veth peer name right
ip link set left up && ip link set right up
ip -6 addr add fd00::1/64 dev left nodad
ip netns add other && ip netns exec other true
touch beside.txt /tmp/x
modprobe ifb && ! modprobe no_such_module
sleep 20
""",
    "again.sh": "test ! -e beside.txt && ! ip link show left && cat ../net/good.sh >/dev/null\n",
    "fails.sh": "echo 'this is wrong'; exit 3\n",
    "sleeps.sh": "sleep 1000\n",
    SPINS: "#!/usr/bin/python3\nwhile True:\n    pass\n",
    "lacks.sh": "no-such-program-here\n",
    "skips.sh": "echo 'SKIP: this needs two machines'; exit 4\n",
    "panics.sh": "echo c >/proc/sysrq-trigger; poweroff -f; sleep 5\n",
    "floods.sh": "yes 0123456789abcdef\n",
}
FAILED, TIMEOUT, LACKING = Outcome.FAILED, Outcome.TIMEOUT, Outcome.LACKING


@pytest.fixture(scope="module")
def results(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """The result of each test, by its name."""
    root = tmp_path_factory.mktemp("selftests")
    net = root / SELFTESTS / "net"
    net.mkdir(parents=True)
    for name, text in TESTS.items():
        (net / name).write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}")
        (net / name).chmod(0o755)
    (net / "settings").write_text(f"timeout={LIMIT_S}\n")
    selftests = Selftests(root, (FolderLists("net", tuple(TESTS)),))
    rest = tuple(name for name in TESTS if name != SPINS)
    found = run_tests(kernel, selftests, Selection(rest, timeout_s=WALL_S))
    late = run_tests(kernel, selftests, Selection((SPINS,), timeout_s=SHORT_WALL_S))
    assert found.release == kernel.release
    return {one.name.removeprefix("net/"): one for one in (*found.results, *late.results)}


def test_a_test_is_root_with_a_network_of_its_own_in_virtual_time(
    results: dict[str, Result],
) -> None:
    good = results["good.sh"]
    assert good.outcome is Outcome.OK, good.output
    assert 20 < good.simulated_s < 20.5
    assert results["again.sh"].outcome is Outcome.OK, "a test has changed another one's guest"


def test_each_bad_end_has_its_reason(results: dict[str, Result]) -> None:
    assert {
        name: (results[name].outcome, results[name].why)
        for name in ("fails.sh", "sleeps.sh", SPINS, "lacks.sh", "skips.sh", "panics.sh")
    } == {
        "fails.sh": (FAILED, "exit status 3"),
        "sleeps.sh": (TIMEOUT, f"it did not end within {LIMIT_S} s of the guest's time"),
        SPINS: (TIMEOUT, f"it did not end within {SHORT_WALL_S:g} s of wall time"),
        "lacks.sh": (LACKING, "lacks no-such-program-here"),
        "skips.sh": (LACKING, "SKIP: this needs two machines"),
        "panics.sh": (FAILED, "the guest ended before the test did"),
    }
    assert results["fails.sh"].output == "this is wrong"
    assert results["sleeps.sh"].wall_s < WALL_S


def test_a_test_that_prints_without_end_is_ended(results: dict[str, Result]) -> None:
    flood = results["floods.sh"]
    assert flood.outcome is FAILED
    assert "at most 64 MiB are allowed" in flood.reason
    assert len(flood.output) < 100_000
