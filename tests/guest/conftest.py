"""Fixtures that run scenarios in the real guest and return the stored runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.backends.kernels import ensure
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store

QUICKSTART = Path(__file__).resolve().parents[2] / "scenarios" / "quickstart.yaml"

NEAR = (
    "topology.bottleneck.delay=1ms",
    "topology.groups.a.access.delay=1ms",
    "topology.groups.b.access.delay=1ms",
)
"""The quickstart with an RTT of 6 ms instead of 100 ms, for iperf3, with which a run then takes a
fraction of the wall time."""

Run = Callable[..., dict[str, Any]]


class Quiet:
    """An observer that only counts events."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def progress(self, progress: Progress) -> None:
        self.phases.append(progress.phase)


@pytest.fixture(scope="session")
def kernel() -> GuestKernel:
    """The guest kernel; it is built if it is not cached."""
    return ensure()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def run(kernel: GuestKernel, db: Path) -> Run:
    """Run a scenario file (the quickstart unless named) and return its one run's document."""

    def run(*overrides: str, scenario: Path = QUICKSTART, **options: Any) -> dict[str, Any]:
        planned = plan(load(scenario, overrides))
        ids = run_plan(planned, RunOptions(db, Guest(kernel, **options)), Quiet())
        with Store.open_read_only(db) as store:
            (document,) = run_document.of_ids(store, ids)["runs"]
        assert isinstance(document, dict)
        return document

    return run
