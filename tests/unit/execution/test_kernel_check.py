"""The check of a guest kernel, with runs that are made up, and where its result is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from guest import kept_checks
from guest.build import GuestKernel
from orchestrator.execution import kernel_check
from orchestrator.execution.kernel_check import KernelCheck
from orchestrator.execution.runner import Observer, Progress, RunOptions
from orchestrator.kinds.congestion import MAINLINE
from orchestrator.kinds.queues import QUEUES
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from tests.support.run import KERNEL, FakeRunner, orchestrator


class Silent:
    def progress(self, progress: Progress) -> None:
        """Show nothing."""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestKernel:
    """A kernel with Linux's modules but one; modules of ours need no build."""
    monkeypatch.setattr(kernel_check, "ensure_ours", lambda kernel: None)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    for name in MAINLINE:
        if name != "bbr":
            (tmp_path / f"tcp_{name}.ko").touch()
    return replace(KERNEL, modules_dir=tmp_path)


def checked(kernel: GuestKernel, fake: object, monkeypatch: pytest.MonkeyPatch) -> KernelCheck:
    monkeypatch.setattr(kernel_check, "run_plan", fake)
    return kernel_check.check(kernel, 2, lambda _planned: Silent())


@pytest.mark.slow
def test_a_kernel_is_good_if_all_that_it_has_is(
    kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRunner()
    found = checked(kernel, fake, monkeypatch)
    assert found.ok
    wanted = ["queue dualpi2", "congestion control bbr", "congestion control prague"]
    assert found.absent[:3] == wanted
    assert len(found.lacks) == 3  # dualpi2, Accurate ECN, and prague for want of it
    ((planned, options),) = fake.asked
    assert options.jobs == 2
    queues = [run.resolved["topology"]["bottleneck"]["queue"]["kind"] for run in planned.runs]
    assert {*queues} == {*QUEUES.found} - {"dualpi2"}
    assert len(planned.runs) == len(found.tried) - len(wanted) + kernel_check.EQUAL_RUNS - 1
    assert {each.about for each in found.tried} == {
        "digests", "impairment", "queue", "congestion control",
    }  # fmt: skip
    document = found.document()
    assert (document["schema"], document["ok"], document["key"]) == (1, True, "key")


@pytest.mark.slow
def test_what_is_not_faithful_or_not_equal_is_a_problem(
    kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[RunSpec] = []

    def digest(spec: RunSpec) -> str:
        made.append(spec)
        return str(len(made))

    fake = FakeRunner(digest=digest)
    found = checked(kernel, fake, monkeypatch)
    assert found.problems == ["digests of 3 equal runs: 3 digests of 3 equal runs"]
    fake = FakeRunner(verdict={1: "unfaithful"})
    found = checked(kernel, fake, monkeypatch)
    assert not found.ok
    assert "queue codel: unfaithful: base_rtt" in found.problems
    fake = FakeRunner(failed={1})
    assert "queue fq: the guest hung" in checked(kernel, fake, monkeypatch).problems


@pytest.mark.slow
def test_an_old_kernel_is_not_asked_for_what_it_lacks(
    kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRunner()
    found = checked(replace(kernel, release="6.1.9"), fake, monkeypatch)
    assert found.ok
    assert "impairment loss" in found.absent
    assert any("cannot seed the random losses" in text for text in found.lacks)
    ((planned, _options),) = fake.asked
    tried = sum(not each.is_absent for each in found.tried) + kernel_check.EQUAL_RUNS - 1
    assert len(planned.runs) == tried


def test_a_result_is_kept_beside_the_kernels(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_checks.verdict("key") == "not checked"
    kept_checks.keep("key", {"problems": []})
    assert kept_checks.verdict("key") == "good"
    kept_checks.keep("key", {"problems": ["a", "b"]})
    assert kept_checks.verdict("key") == "2 problems"
    path = tmp_path / "cache" / "guest" / "checks" / "key.json"
    path.chmod(0o666)
    assert kept_checks.verdict("key") == "not checked", "others could have written it"
    path.chmod(0o644)
    path.write_text("{")
    assert kept_checks.verdict("key") == "not checked"


@pytest.mark.slow
def test_the_command_says_what_is_good_absent_and_wrong(
    kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guest.build.ensure", lambda confine, progress, choice: kernel)

    def run_plan(plan: Plan, options: RunOptions, observer: Observer) -> Sequence[str]:
        return FakeRunner()(plan, options, observer)

    monkeypatch.setattr(kernel_check, "run_plan", run_plan)
    result = orchestrator("guest", "check")
    assert result.exit_code == 0, result.stderr
    assert "Linux 6.12.7 (key)" in result.stdout
    assert "not there: congestion control bbr" in result.stdout
    assert kept_checks.verdict("key") == "good"
    failing = FakeRunner(failed={1})
    monkeypatch.setattr(kernel_check, "run_plan", failing)
    result = orchestrator("guest", "check", "--json")
    assert result.exit_code == 1
    assert '"ok": false' in result.stdout
