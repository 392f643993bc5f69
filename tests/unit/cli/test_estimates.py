"""Commands estimate wall times by earlier runs of the store, and say by how many."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.errors import StoreError
from orchestrator.execution import costing
from orchestrator.planning.learning import Estimate, Estimator, least_certain
from tests.unit.cli.test_run import KERNEL, FakeRunner, fake, orchestrator

__all__ = ["fake"]


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch, fake: FakeRunner) -> None:
    """A kernel with a hash, by which runs are known again, and runs of a minute each."""
    fake.wall_s = 60.0
    use("k1", monkeypatch)
    monkeypatch.setattr("orchestrator.cli._status.PLAIN_PERIOD_S", 0.0)


def use(linux_sha256: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = {"linux_sha256": linux_sha256}
    made = GuestKernel(KERNEL.key, KERNEL.linux, KERNEL.modules_dir, KERNEL.release, manifest)
    monkeypatch.setattr("guest.build.ensure", lambda progress: made)
    monkeypatch.setattr("guest.build.find", lambda: made)


def test_the_status_line_says_from_how_many_runs_it_knows_the_time_left() -> None:
    first = orchestrator("run", "pair.yaml", "--repetitions", "3")
    assert " left" in first.stderr
    assert "earlier" not in first.stderr
    again = orchestrator("run", "pair.yaml", "--repetitions", "4")
    assert " left (from 3 earlier runs)" in again.stderr
    assert "from constants" not in orchestrator("plan", "pair.yaml", "--json").stdout
    assert (
        "from 7 earlier runs of the same variant here" in orchestrator("plan", "pair.yaml").stdout
    )


def test_another_kernel_and_an_unreadable_store_leave_the_constants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orchestrator("run", "pair.yaml", "--repetitions", "3")
    with monkeypatch.context() as other:
        use("k2", other)
        text = orchestrator("run", "pair.yaml", "--repetitions", "3").stderr
        assert " left" in text
        assert "earlier" not in text

    def unreadable(_db: Path, _kernel: str | None) -> Estimator:
        raise StoreError("a row is damaged")

    monkeypatch.setattr(costing, "estimator", unreadable)
    result = orchestrator("run", "pair.yaml", "--repetitions", "3")
    assert result.exit_code == 0
    assert "earlier" not in result.stderr


def test_the_least_certain_estimate_counts() -> None:
    same, few = Estimate(1.0, "same", 1), Estimate(2.0, "scenario", 7)
    assert least_certain([same, few, Estimate(3.0, "scenario", 5)]).wall_s == 3.0
    assert least_certain([few, Estimate(0.1, "constants", 0), same]).source == "constants"
    with pytest.raises(ValueError, match="empty"):
        least_certain([])
