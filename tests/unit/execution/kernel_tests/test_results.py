"""How tests of a kernel's own are judged, and how the results are written."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from orchestrator.backends.guest.kernel_tests import Ended, GuestTest, How
from orchestrator.execution.kernel_tests import formats, known
from orchestrator.execution.kernel_tests.known import KnownFailure
from orchestrator.execution.kernel_tests.model import KernelTest, Outcome, OwnResults, Result
from orchestrator.execution.kernel_tests.running import judge

TEST = KernelTest("net/a.sh", GuestTest(("./a.sh",), "kernel/net", 45.0))


def judged(how: How, status: int, said: str = "") -> Result:
    return judge(TEST, Ended(how, status, 1.5, 0.7, said, "it broke"), 9.0, "6.12.7")


@pytest.mark.parametrize(
    ("how", "status", "said", "outcome", "why"),
    [
        ("exit", 0, "fine", Outcome.OK, ""),
        ("exit", 0, "x: not found", Outcome.OK, ""),
        ("exit", 1, "no", Outcome.FAILED, "exit status 1"),
        ("exit", -11, "", Outcome.FAILED, "ended by signal 11"),
        ("exit", 4, "ok\nSKIP: need root\nbye", Outcome.LACKING, "SKIP: need root"),
        ("exit", 4, "", Outcome.LACKING, "it does not say why"),
        ("exit", 1, "./a.sh: line 3: nft: command not found", Outcome.LACKING, "lacks nft"),
        ("exit", 127, "env: 'x': not here\n./a.sh: 3: dropwatch: not found", Outcome.LACKING,
         "lacks dropwatch"),
        ("exit", 4, "SKIP: mausezahn not installed", Outcome.LACKING, "lacks mausezahn"),
        ("exit", 1, 'exec of "nft" failed: No such file or directory', Outcome.LACKING,
         "lacks nft"),
        ("exit", 1, "ModuleNotFoundError: No module named 'yaml'", Outcome.LACKING,
         "lacks Python's yaml"),
        ("late", -9, "", Outcome.TIMEOUT, "it did not end within 45 s of the guest's time"),
        ("hung", 0, "", Outcome.TIMEOUT, "it did not end within 9 s of wall time"),
        ("broken", 0, "panic", Outcome.FAILED, "it broke"),
    ],
)  # fmt: skip
def test_a_test_is_judged_by_how_it_ended(
    how: How, status: int, said: str, outcome: Outcome, why: str
) -> None:
    result = judged(how, status, said)
    assert (result.outcome, result.why) == (outcome, why)
    assert (result.simulated_s, result.wall_s, result.output) == (1.5, 0.7, said)


def test_a_known_failure_has_its_reason_on_its_kernels_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = (KnownFailure("net/a.*", ("6.12.*",), "it polls"),)
    monkeypatch.setattr(known, "listed", lambda: listed)
    result = judged("exit", 1)
    assert (result.outcome, result.reason) == (Outcome.KNOWN, "it polls (exit status 1)")
    assert judged("exit", 0).outcome is Outcome.OK
    assert judged("exit", 4, "SKIP").outcome is Outcome.LACKING
    assert known.reason_of("net/a.sh", "7.3.4") is None
    assert not known.hangs("net/a.sh", "6.12.7")
    assert known.reason_of("net/b.sh", "6.12.7") is None


def test_each_known_failure_has_a_test_kernels_and_a_reason() -> None:
    tests = [one.test for one in known.listed()]
    assert len(set(tests)) == len(tests)
    for one in known.listed():
        assert one.test.startswith("net/")
        assert one.kernels
        assert len(one.reason) > 10


RESULTS = OwnResults(
    "6.12.7",
    "1",
    [
        Result("net/good.sh", Outcome.OK, wall_s=1.25, simulated_s=2.0, output="fine"),
        Result("net/a#b", Outcome.FAILED, "exit status 1", output="one\ntwo \x1b[2J & <x>"),
        Result("net/late", Outcome.TIMEOUT, "too late"),
        Result("net/polls", Outcome.KNOWN, "it polls (exit status 1)", output="long"),
        Result("net/lacks", Outcome.LACKING, "", ("nft", "CONFIG_TLS")),
        Result("net/skips", Outcome.LACKING, "SKIP: no # root\nat all"),
    ],
    ["net/tcp_ao"],
)

TAP = r"""TAP version 13
1..6
ok 1 net/good.sh
# one
# two \x1b[2J & <x>
not ok 2 net/a\#b # exit status 1
not ok 3 net/late # TIMEOUT too late
not ok 4 net/polls # TODO it polls (exit status 1)
ok 5 net/lacks # SKIP lacks nft, CONFIG_TLS
ok 6 net/skips # SKIP SKIP: no # root\nat all
"""


def test_tap_has_a_line_for_each_test_with_its_directive() -> None:
    assert formats.tap(RESULTS) == TAP


def test_tap_has_the_end_of_what_a_failed_test_printed() -> None:
    output = "\n".join(f"line {number}" for number in range(50))
    lines = list(formats.tap_lines(1, Result("net/x", Outcome.FAILED, "no", output=output)))
    assert lines[:2] == ["# [... 30 lines before ...]", "# line 30"]
    assert lines[-2:] == ["# line 49", "not ok 1 net/x # no"]


def test_junit_has_a_case_for_each_test_and_counts() -> None:
    suite = ElementTree.fromstring(formats.junit(RESULTS))
    assert suite.tag == "testsuite"
    counted = {name: suite.get(name) for name in ("name", "tests", "failures", "skipped", "time")}
    assert counted == {
        "name": "Linux 6.12.7", "tests": "6", "failures": "2", "skipped": "3", "time": "1.250",
    }  # fmt: skip
    cases = list(suite)
    assert [case.get("name") for case in cases[:2]] == ["good.sh", "a#b"]
    assert {case.get("classname") for case in cases} == {"net"}
    kinds = [[child.tag for child in case] for case in cases]
    assert kinds == [
        ["system-out"], ["failure", "system-out"], ["failure"], ["skipped", "system-out"],
        ["skipped"], ["skipped"],
    ]  # fmt: skip
    assert cases[3][0].get("message") == "known: it polls (exit status 1)"
    assert cases[1][1].text == "one\ntwo \\x1b[2J & <x>"


def test_what_is_missing_is_counted_by_tests() -> None:
    results = [
        Result("a", Outcome.LACKING, lacks=("nft", "ping")),
        Result("b", Outcome.LACKING, lacks=("ping",)),
    ]
    found = OwnResults("6.12.7", "1", results)
    assert found.lacking == [("ping", 2), ("nft", 1)]
    assert found.ran_nothing
    assert not RESULTS.ran_nothing
    assert [one.name for one in RESULTS.unexpected] == ["net/a#b", "net/late"]
