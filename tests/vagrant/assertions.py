"""What the tests of the Vagrant machine assert of runs and stores, and their commands.

``make test-vagrant`` takes long and runs seldom. So all that depends on this program is here, uses
the program's own functions in place of SQL, and is tried by ``make test`` on stored runs
(``tests/unit/backends/test_vagrant_assertions.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.recording.model import SENDER
from results.store.store import Store

HOST_CHECKS = {"scheduling_delay", "host_load", "run_load"}
"""What says that the machine was too slow, or busy with something else."""

CLOSE = 0.05
"""How far utilisations of the machine and the guest may be apart, as a share."""

QUICKSTART = "scenarios/quickstart.yaml"
RUN_INSIDE = ("run", QUICKSTART, "--backend", "local", "--json")
RUN_FROM_HOST = (
    "run", QUICKSTART, "--backend", "vagrant", "--json", "--set", "duration=30s", "--set",
    "capture={trace: [packets], window: 4s..6s}",
)  # fmt: skip
"""It is shorter, because all of it has been seen inside."""
RUN_IN_GUEST = ("run", QUICKSTART, "--json")


def require_measured(run: dict[str, Any], backend: str) -> None:
    """Assert that a run is complete, and is faithful or reports that the machine was too slow."""
    assert run["backend"] == backend
    assert run["status"] == "ok", run["error"]
    checks = run["fidelity"]["checks"]
    assert checks
    failed = {check["name"] for check in checks if check["ok"] is not True}
    assert run["fidelity"]["verdict"] == "faithful" or failed & HOST_CHECKS, run["fidelity"]


def require_samples(db: Path, run_id: str) -> dict[str, Any]:
    """Assert that each flow was sampled from start to end; return the run's provenance."""
    with Store.open_read_only(db) as store:
        run = store.load(run_id)
        period_ns = 100_000_000  # the digest's, whatever the scenario samples
        for flow in run.flows:
            times_ns = run.tcp(flow.name, SENDER, ["time_ns"])["time_ns"]
            sampled_ns = int((run.duration_s - flow.start_s) * 1e9)
            assert len(times_ns) >= 0.9 * sampled_ns / period_ns, (flow.name, len(times_ns))
            assert times_ns[-1] - times_ns[0] >= 0.9 * sampled_ns, (flow.name, times_ns)
        assert run.flows
        return dict(run.provenance)


def require_captures(db: Path, run_id: str) -> None:
    """Assert that the run's newest trace has frames of each host that was captured."""
    with Store.open_read_only(db) as store:
        heads = store.traces(run_id)
        assert heads
        tables = store.trace(run_id, heads[-1].number, ("frames", "hosts")).tables
        hosts = set(tables["hosts"]["host"].tolist())
        assert hosts
        assert set(tables["frames"]["host"].tolist()) == hosts


def require_only_run(db: Path, backend: str) -> None:
    """Assert that a store has one run, of that back end, which is ok."""
    with Store.open_read_only(db) as store:
        assert [(row.backend, row.status) for row in store.list_runs()] == [(backend, "ok")]


def utilisation(run: dict[str, Any]) -> float:
    """Return the bottleneck's utilisation."""
    value: float = run["metrics"]["utilisation"]
    return value


def require_close(measured: float | None, guest: dict[str, Any]) -> None:
    """Assert that the utilisation in the machine was about that of a run in the guest."""
    assert measured is not None
    assert abs(measured - utilisation(guest)) <= CLOSE * utilisation(guest)
