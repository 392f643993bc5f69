"""A run's costs are kept, and only those of this machine and kernel teach estimates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.cpu_waiting import Waiting
from orchestrator.execution import costing
from orchestrator.planning.costs.learning import Estimator, identity
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load
from results.store import history
from results.store.store import Store
from tests.support.recordings import flow, head, recording

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
KERNEL = {"linux_sha256": "k1"}


def planned(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, overrides)).runs[0]


def stored(db: Path, run: RunSpec, wall_s: float = 5.0, **provenance: Any) -> None:
    cost = costing.recorded(run, 1.0)
    kept = {"cost": cost, "guest_kernel": KERNEL, **provenance}
    begun = head(
        scenario=run.scenario_name,
        experiment_sha256=run.experiment_sha256,
        variant=run.variant,
        backend="guest",
    )
    with Store(db) as store:
        run_id = store.begin(begun)
        made = recording([], [], flows=[flow("f")])
        kept = {name: value for name, value in kept.items() if value is not None}
        store.finish(run_id, replace(made, provenance=kept, verdict="faithful"), wall_s)


def estimate(db: Path, run: RunSpec, kernel: str | None = "k1") -> tuple[str, int]:
    found = costing.estimator(db, kernel)(run)
    return found.source, found.runs


def test_a_stored_run_teaches_what_it_took_without_its_waits(tmp_path: Path) -> None:
    run, db = planned(), tmp_path / "runs.db"
    for _ in range(9):
        stored(db, run, wall_s=5.0)
    found = costing.estimator(db, "k1")(run)
    assert (found.source, found.runs) == ("same", 9)
    assert found.wall_s == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"guest_kernel": {"linux_sha256": "k2"}},
        {"guest_kernel": {}},
        {"worker": "node1"},
        {"cost": None},
        {"cost": "text"},
        {"cost": {"model": costing.MODEL}},
    ],
    ids=str,
)
def test_runs_of_another_place_or_kind_teach_nothing(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    run, db = planned(), tmp_path / "runs.db"
    stored(db, run, **changes)
    assert estimate(db, run) == ("constants", 0)
    stored(db, run)
    assert estimate(db, run) == ("same", 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"processor": "another"},
        {"model": costing.MODEL + 1},
        {"waited_s": None},
        {"waited_s": -1.0},
        {"waited_s": 1e300},
        {"parts": {"start_s": 1.0}},
        {"parts": dict.fromkeys(("start_s", "packets_s", "samples_s", "changes_s"), 0)},
        {"parts": dict.fromkeys(("start_s", "packets_s", "samples_s", "changes_s"), 10**400)},
        {"parts": {"start_s": "x", "packets_s": 1, "samples_s": 1, "changes_s": 1}},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_costs_of_another_machine_or_model_teach_nothing(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    run, db = planned(), tmp_path / "runs.db"
    stored(db, run, cost=costing.recorded(run, 1.0) | changes)
    assert estimate(db, run) == ("constants", 0)


def test_without_store_or_kernel_the_constants_remain(tmp_path: Path) -> None:
    run, db = planned(), tmp_path / "runs.db"
    assert estimate(db, run) == ("constants", 0)
    assert not db.exists()
    stored(db, run)
    assert estimate(db, run, None) == ("constants", 0)


def test_only_the_newest_runs_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, db = planned(), tmp_path / "runs.db"
    monkeypatch.setattr(history, "MOST_RUNS", 2)
    for wall_s in (50.0, 4.0, 6.0):
        stored(db, run, wall_s)
    with Store.open_read_only(db) as store:
        assert [each.wall_s for each in history.runs(store, "k1")] == [6.0, 4.0]


def test_the_estimate_of_a_plan_says_where_it_comes_from(tmp_path: Path) -> None:
    loaded = plan(load(QUICKSTART))
    run, db = loaded.runs[0], tmp_path / "runs.db"
    stored(db, run)
    described = loaded.describe(costing.estimator(db, "k1"))
    estimate = described.runs[0].estimated_from
    assert (estimate.source, estimate.runs) == ("same", 1)
    by_constants = loaded.describe(Estimator()).runs[0].estimated_from
    assert (by_constants.source, by_constants.runs) == ("constants", 0)
    assert identity(run)[0] == run.experiment_sha256


def test_waits_of_all_processes_are_summed(tmp_path: Path) -> None:
    def process(pid: int, waited_ns: int, children: str) -> None:
        (tmp_path / f"{pid}/task/{pid}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{pid}/schedstat").write_text(f"123 {waited_ns} 7\n")
        (tmp_path / f"{pid}/task/{pid}/children").write_text(children)

    process(1, 10**9, "2 3 ")
    process(2, 2 * 10**9, "4")
    process(4, 5 * 10**8, "")
    assert Waiting(1, tmp_path).total_s is None
    waiting = Waiting(1, tmp_path)
    waiting.update()
    before_s = waiting.total_s
    assert before_s == 3.5
    # Process 4 has ended: what it waited stays.
    process(1, 2 * 10**9, "2")
    process(2, 2 * 10**9, "")
    waiting.update()
    assert waiting.total_s == 4.5
