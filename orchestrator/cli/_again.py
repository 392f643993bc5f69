"""Runs that are stored already: which of a plan need not be run, and how to run one again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.errors import ScenarioError, UsageError

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
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
    """Leave out of a plan what is stored ok: same resolved scenario, variant, repetition, seed.

    An earlier version resolved a scenario to fewer keys. What it stored counts as the same if this
    version fills it up to the same.
    """
    known: dict[str, list[tuple[Mapping[str, Any], str]]] = {}
    seeds = {spec.seed for spec in plan.runs}
    for row in store.list_runs():
        if row.status == "ok" and row.backend == backend and row.seed in seeds:
            place = _place(row.variant, row.repetition, row.seed)
            known.setdefault(place, []).append((store.load(row.id).head.resolved, row.id))
    ids = tuple(
        next(
            (
                run_id
                for resolved, run_id in reversed(
                    known.get(_place(spec.variant, spec.repetition, spec.seed), [])
                )
                if _is_same(resolved, spec.resolved)
            ),
            None,
        )
        for spec in plan.runs
    )
    missing = [spec for spec, run_id in zip(plan.runs, ids, strict=True) if run_id is None]
    return Remaining(replace(plan, runs=missing), ids)


def verification(run: str, store: Store, backend: str) -> Verification:
    """Plan a stored run once more, from the scenario that was stored with it.

    Raises:
        UsageError: there is no such run, it did not end ok, or it ran on another back end.
    """
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
    again = _planned_again(head.resolved, head.experiment)
    (spec,) = again.runs
    spec = replace(
        spec,
        variant=dict(head.variant),
        repetition=head.repetition,
        scenario_text=head.scenario_text,
        scenario_sha256=head.scenario_sha256,
    )
    return Verification(replace(again, runs=[spec]), stored.id, stored.row.digest)


def _place(variant: Mapping[str, Any], repetition: int, seed: int) -> str:
    """Return what tells the runs of one plan apart."""
    return json.dumps([dict(variant), repetition, seed], sort_keys=True)


def _is_same(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether a stored scenario, as an earlier version resolved it, is the one wanted."""
    if _text(stored) == _text(wanted):
        return True
    if not _is_part(json.loads(_text(stored)), json.loads(_text(wanted))):
        return False
    try:
        (spec,) = _planned_again(stored).runs
    except ScenarioError:  # this version refuses what the earlier one ran
        return False
    return _text(spec.resolved) == _text(wanted)


def _is_part(stored: object, wanted: object) -> bool:
    """Tell whether ``wanted`` has everything that ``stored`` has, and maybe more keys."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return all(key in wanted and _is_part(value, wanted[key]) for key, value in stored.items())
    if isinstance(stored, list) and isinstance(wanted, list):
        return len(stored) == len(wanted) and all(map(_is_part, stored, wanted))
    return stored == wanted


def _planned_again(resolved: Mapping[str, Any], experiment: str | None = None) -> Plan:
    """Return the plan of a resolved scenario, which is one run."""
    from orchestrator.files.temporary import temporary_folder
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load

    with temporary_folder("verify") as folder:
        file = folder / "stored.yaml"  # JSON is YAML
        file.write_text(json.dumps(dict(resolved)), encoding="utf-8")
        return plan(load(file), experiment)


def _text(resolved: Mapping[str, Any]) -> str:
    return json.dumps(dict(resolved), sort_keys=True)
