"""``guest test`` with guests that are made up: what it prints and writes, and its statuses."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from guest.selftests import SELFTESTS, FolderLists, Selftests
from orchestrator.backends import kernels
from orchestrator.backends.guest.kernel_tests import Ended, GuestTest
from orchestrator.execution.kernel_tests import running
from results.contract.kernels import KernelTests
from tests.support import contract
from tests.support.run import KERNEL, orchestrator

ENDS = {
    "good.sh": Ended("exit", 0, 1.0, 0.5, "fine"),
    "bad.sh": Ended("exit", 3, 1.0, 0.5, "not fine"),
    "hangs.sh": Ended("hung", 0, 0.0, 7.0, "waiting"),
}


class MadeUpBench:
    """Ends each test as ``ENDS`` says, and keeps the time that it may take."""

    timeouts_s: list[float] = []

    def run(self, test: GuestTest, timeout_s: float) -> Ended:
        self.timeouts_s.append(timeout_s)
        return ENDS[test.command[-1].removeprefix("./")]


@pytest.fixture(autouse=True)
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = tmp_path / "kept" / SELFTESTS / "net"
    net.mkdir(parents=True)
    names = (*ENDS, "lacks.sh")
    for name in names:
        (net / name).write_text("#!/bin/sh\n")
        (net / name).chmod(0o755)
    (net / "lacks.sh").write_text("#!/bin/sh\nno-such-mausezahn\nmausezahn -c 1\n")
    selftests = Selftests(tmp_path / "kept", (FolderLists("net", names),))

    @contextlib.contextmanager
    def open_bench(*given: object) -> Iterator[MadeUpBench]:
        yield MadeUpBench()

    MadeUpBench.timeouts_s = []
    monkeypatch.setattr(kernels, "ensure", lambda *given: KERNEL)
    monkeypatch.setattr(kernels, "ensure_selftests", lambda *given: selftests)
    monkeypatch.setattr(running, "open_bench", open_bench)
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    monkeypatch.chdir(tmp_path)


def document(*words: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(orchestrator("guest", "test", *words, "--json").stdout)
    return made


def outcomes(made: Mapping[str, Any]) -> dict[str, str]:
    return {test["name"]: test["outcome"] for test in made["tests"]}


def test_failures_end_with_status_1_and_all_tests_are_listed() -> None:
    result = orchestrator("guest", "test")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "TAP version 13",
        "1..4",
        "ok 1 net/good.sh",
        "# not fine",
        "not ok 2 net/bad.sh # exit status 3",
        "# waiting",
        "not ok 3 net/hangs.sh # TIMEOUT it did not end within 120 s of wall time",
        "ok 4 net/lacks.sh # SKIP lacks mausezahn",
    ]
    assert "1 ok, 1 failed, 1 timeout, 0 known, 1 lacking" in result.stderr
    assert "apt-get install netsniff-ng" in result.stderr
    assert "no tests in net/tcp_ao" in result.stderr


def test_the_status_is_0_if_what_could_be_tried_passed() -> None:
    result = orchestrator("guest", "test", "--only", "good.sh", "--only", "lacks.sh")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1] == "1..2"


def test_the_status_is_4_if_nothing_could_be_tried() -> None:
    result = orchestrator("guest", "test", "--only", "lacks.sh")
    assert result.exit_code == 4
    assert "ok 1 net/lacks.sh # SKIP lacks mausezahn" in result.stdout
    assert "no test could be tried: missing is mausezahn (1)" in result.stderr
    assert "fix: apt-get install netsniff-ng" in result.stderr


def test_the_document_is_as_its_model_says() -> None:
    made = document()
    assert contract.faults(KernelTests, made) == []
    assert (made["ok"], made["release"], made["lacking"]) == (False, "6.12.7", ["mausezahn"])
    assert outcomes(made) == {
        "net/good.sh": "ok", "net/bad.sh": "failed", "net/hangs.sh": "timeout",
        "net/lacks.sh": "lacking",
    }  # fmt: skip
    assert made["counts"] == {"ok": 1, "failed": 1, "timeout": 1, "known": 0, "lacking": 1}


def test_files_have_tap_and_junit() -> None:
    result = orchestrator("guest", "test", "--tap", "a.tap", "--junit", "a.xml", "--timeout", "7s")
    assert Path("a.tap").read_text() == result.stdout
    assert '<testcase classname="net" name="bad.sh"' in Path("a.xml").read_text()
    assert MadeUpBench.timeouts_s == [7.0, 7.0, 7.0]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--only", "goood.sh"], "--only goood.sh: no test fits"),
        (["--timeout", "soon"], "--timeout"),
        (["--timeout", "0s"], "give a time above zero"),
        (["--junit", "no/such/a.xml"], "--junit no/such/a.xml: there is no folder"),
        (["--tap", "no/such/a.tap"], "--tap no/such/a.tap: there is no folder"),
        (["--scripts", "kept"], "no file *.pkt"),
        (["--scripts", "nothing"], "nothing"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(words: list[str], why: str) -> None:
    result = orchestrator("guest", "test", *words)
    assert result.exit_code == 2
    assert why in result.stderr
    assert MadeUpBench.timeouts_s == []


def test_packetdrill_scripts_are_lacking_without_the_program() -> None:
    Path("scripts").mkdir()
    Path("scripts/one.pkt").touch()
    result = orchestrator("guest", "test", "--scripts", "scripts", "--only", "scripts/*")
    assert result.exit_code == 4
    assert "missing is packetdrill (1)" in result.stderr
