"""Runs that are stored already: which of a plan need not be run, and how to run one again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from results.store import Store


@dataclass(frozen=True)
class Remaining:
    """A plan without the runs that are stored; ``ids`` has a place for every run of the whole."""

    plan: Plan
    ids: tuple[str | None, ...]

    def complete(self, new: Sequence[str]) -> list[str]:
        """Return the ids of stored and new runs, in the order of the whole plan."""
        fresh = iter(new)
        filled = (run_id or next(fresh, None) for run_id in self.ids)
        return [run_id for run_id in filled if run_id is not None]


@dataclass(frozen=True)
class Verification:
    """A plan of one run that was stored before, and what it then gave."""

    plan: Plan
    run_id: str
    digest: str


def remaining(plan: Plan, store: Store, backend: str) -> Remaining:
    """Leave out of a plan what is stored ok: same resolved scenario, variant, repetition, seed."""
    known: dict[str, str] = {}
    seeds = {spec.seed for spec in plan.runs}
    for row in store.list_runs():
        if row.status == "ok" and row.backend == backend and row.seed in seeds:
            head = store.load(row.id).head
            known[_content(head.resolved, head.variant, head.repetition, head.seed)] = row.id
    ids = tuple(
        known.get(_content(spec.resolved, spec.variant, spec.repetition, spec.seed))
        for spec in plan.runs
    )
    missing = [spec for spec, run_id in zip(plan.runs, ids, strict=True) if run_id is None]
    return Remaining(replace(plan, runs=missing), ids)


def verification(run: str, store: Store, backend: str) -> Verification:
    """Plan a stored run once more, from the scenario that was stored with it.

    Raises:
        UsageError: there is no such run, it did not end ok, or it ran on another back end.
    """
    from orchestrator.plan import plan
    from orchestrator.scenario import load

    stored = store.load(run)
    if stored.status != "ok" or stored.row.digest is None:
        raise UsageError(
            f"--verify: run {stored.id} is {stored.status}; only an ok run has results"
        )
    head = stored.head
    if head.backend != backend:
        raise UsageError(
            f"--verify: run {stored.id} ran with --backend {head.backend}, not {backend}"
        )
    with tempfile.TemporaryDirectory(prefix="orchestrator-") as folder:
        file = Path(folder) / f"{stored.id}.yaml"  # JSON is YAML
        file.write_text(json.dumps(dict(head.resolved)), encoding="utf-8")
        again = plan(load(file), head.experiment)
    (spec,) = again.runs
    spec = replace(
        spec,
        variant=dict(head.variant),
        repetition=head.repetition,
        scenario_text=head.scenario_text,
        scenario_sha256=head.scenario_sha256,
    )
    return Verification(replace(again, runs=[spec]), stored.id, stored.row.digest)


def _content(
    resolved: Mapping[str, Any], variant: Mapping[str, Any], repetition: int, seed: int
) -> str:
    return json.dumps([dict(resolved), dict(variant), repetition, seed], sort_keys=True)
