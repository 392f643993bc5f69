"""Which kernel a run has in the guest back end, and what a kernel lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guest.choice import DEFAULT, KernelChoice
from orchestrator.backends import guest
from orchestrator.backends.contract import BackendOptions
from orchestrator.backends.guest.features import require_features
from orchestrator.errors import UsageError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario.loader import load_stored
from tests.support.run import KERNEL, SCENARIO, FakeRunner, fake, orchestrator

__all__ = ["fake"]

OLD = replace(KERNEL, key="old", release="6.1.2")


def spec(text: str = SCENARIO) -> RunSpec:
    return plan(load_stored(text, {})).runs[0]


def test_only_the_kernels_that_runs_name_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[KernelChoice | None] = []

    def ensure(_progress: object, choice: KernelChoice | None = None) -> object:
        asked.append(choice)
        return KERNEL if choice is None else OLD

    monkeypatch.setattr("guest.build.ensure", ensure)
    old = KernelChoice("6.1")
    made = guest.make(BackendOptions(lambda *_: None, kernels=(old, DEFAULT)))
    assert asked == [old, None]
    plain = spec()
    assert made.kernel_of(plain) is KERNEL
    assert made.kernel_of(replace(plain, kernel=old)) is OLD
    assert made.machine(replace(plain, kernel=old)).provenance["guest_kernel"] == OLD.manifest
    asked.clear()
    only = guest.make(BackendOptions(lambda *_: None, kernels=(old,)))
    assert asked == [old]
    with pytest.raises(KeyError):
        only.kernel_of(replace(plain, kernel=KernelChoice("7.3")))


@pytest.mark.parametrize(
    ("release", "recovery", "refused"),
    [
        ("6.12.1", "dupack", False),
        ("6.16.9", "dupack", False),
        ("6.17.0", "dupack", True),
        ("7.3.4", "dupack", True),
        ("7.3.4", "rack", False),
        ("unknown", "dupack", False),
    ],
)
def test_a_kernel_without_recovery_by_duplicate_acks_is_refused(
    release: str, recovery: str, refused: bool
) -> None:
    wants = spec(f"{SCENARIO}tcp: {{recovery: {recovery}}}\n")
    if not refused:
        require_features(wants, release)
        return
    with pytest.raises(UsageError, match=rf"Linux {release} has no recovery by duplicate ACKs"):
        require_features(wants, release)


def test_a_default_kernel_without_it_is_refused_only_where_it_is_asked_for() -> None:
    require_features(spec(), "7.3.4")


def test_another_back_end_refuses_a_kernel(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml", "--backend", "local", "--kernel", "7.3")
    assert result.exit_code == 2
    assert "--backend local: it has the kernel of its machines, and not 7.3" in result.stderr
    assert not fake.asked


def test_kernels_of_the_command_line_are_an_axis(fake: FakeRunner) -> None:
    assert orchestrator("run", "pair.yaml", "--kernel", "5.10").exit_code == 0
    assert [run.kernel.source for run in fake.asked[-1][0].runs] == ["5.10"]
    words = ("--kernel", "6.1", "--kernel", "7.3+fix.patch")
    Path("fix.patch").write_text("--- a/x\n+++ b/x\n")
    assert orchestrator("run", "pair.yaml", *words).exit_code == 0
    runs = fake.asked[-1][0].runs
    assert [run.kernel.text for run in runs] == ["6.1", "7.3+fix.patch"]
    assert [run.variant["kernel"] for run in runs] == ["6.1", "7.3+fix.patch"]
