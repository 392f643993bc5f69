"""Finds the runs of a plan that are stored already, and plans a stored run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.errors import ScenarioError, UsageError
from orchestrator.protocol.version import DIGEST_VERSION, LINK_MODEL

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
    from results.model import RunRow
    from results.store import Store


@dataclass(frozen=True)
class Remaining:
    """The runs of a plan that are not stored yet.

    ``ids`` has an element for every run of the whole plan: its id when it is stored, else None.
    """

    plan: Plan
    ids: tuple[str | None, ...]

    def complete(self, new: Sequence[str]) -> list[str]:
        """Return the ids of stored and new runs, in the order of the whole plan."""
        fresh = iter(new)
        filled = (run_id or next(fresh, None) for run_id in self.ids)
        return [run_id for run_id in filled if run_id is not None]


@dataclass(frozen=True)
class Verification:
    """A plan of one stored run, with the run's id and digest."""

    plan: Plan
    run_id: str
    digest: str


def remaining(plan: Plan, store: Store, backend: str) -> Remaining:
    """Leave out of a plan the runs that are stored as ok.

    A stored run is the same when its resolved scenario, variant, repetition and seed are equal.
    Earlier versions resolved a scenario to fewer keys; such a run is the same when this version
    resolves its scenario to the planned one.

    Raises:
        UsageError: a run of the plan is stored, but only with another link model or digest version.
            It must not be grouped with runs of this program.
    """
    same = _same(plan, store, backend)
    others = [row for row in same if row is not None and not _is_of_this_program(row)]
    if others:
        raise UsageError(
            f"--resume: {_versions_differ(others[0])}\n"
            "  fix: run it again as a new run: without --resume, or with --resume and another --db"
        )
    ids = tuple(None if row is None else row.id for row in same)
    missing = [spec for spec, run_id in zip(plan.runs, ids, strict=True) if run_id is None]
    return Remaining(replace(plan, runs=missing), ids)


def stored(plan: Plan, store: Store, backend: str) -> list[bool]:
    """Tell for each run of a plan whether it is stored as ok, made by this program's versions."""
    same = _same(plan, store, backend)
    return [row is not None and _is_of_this_program(row) for row in same]


def _same(plan: Plan, store: Store, backend: str) -> list[RunRow | None]:
    """Return for each run of a plan the stored run that is the same; see :func:`remaining`."""
    run_keys = [_run_key(spec.variant, spec.repetition, spec.seed) for spec in plan.runs]
    known: dict[str, list[tuple[Mapping[str, Any], RunRow]]] = {run_key: [] for run_key in run_keys}
    for row in store.list_runs():
        run_key = _run_key(row.variant, row.repetition, row.seed)
        if row.status == "ok" and row.backend == backend and run_key in known:
            known[run_key].append((store.load(row.id).head.resolved, row))
    return [
        _newest(row for resolved, row in known[run_key] if _is_same(resolved, spec.resolved))
        for run_key, spec in zip(run_keys, plan.runs, strict=True)
    ]


def verification(run: str, store: Store, backend: str) -> Verification:
    """Plan a stored run again, from the scenario that is stored with it.

    Raises:
        UsageError: there is no such run, it did not end ok, it ran on another back end, or with
            another link model, or its digest has another version.
    """
    stored = store.load(run)
    if stored.status != "ok" or stored.row.digest is None:
        raise UsageError(
            f"--verify: run {stored.id} is {stored.status}; only a run that is ok can be verified"
        )
    head = stored.head
    if head.backend != backend:
        raise UsageError(
            f"--verify: run {stored.id} ran with --backend {head.backend}, not {backend}: give "
            f"--backend {head.backend}"
        )
    if not _is_of_this_program(stored.row):
        raise UsageError(
            f"--verify: {_versions_differ(stored.row)}\n"
            "  fix: run its scenario again as a new run (orchestrator run FILE) and verify that"
        )
    again = plan_resolved(head.resolved, head.experiment)
    (spec,) = again.runs
    spec = replace(
        spec,
        variant=dict(head.variant),
        repetition=head.repetition,
        scenario_text=head.scenario_text,
        scenario_sha256=head.scenario_sha256,
        experiment_sha256=head.experiment_sha256,
        repetition_rule=None if head.repetition_rule is None else dict(head.repetition_rule),
    )
    return Verification(replace(again, runs=[spec]), stored.id, stored.row.digest)


def _newest(rows: Iterable[RunRow]) -> RunRow | None:
    """Return the last run with this program's versions, else the last run, else None."""
    ordered = sorted(rows, key=_is_of_this_program)  # which keeps the order of time otherwise
    return ordered[-1] if ordered else None


def _is_of_this_program(row: RunRow) -> bool:
    """Tell whether the run's links and digest are those of runs that this program makes."""
    return (row.link_model, row.digest_version) == (LINK_MODEL, DIGEST_VERSION)


def _versions_differ(row: RunRow) -> str:
    return (
        f"run {row.id} has link model {row.link_model} and digest version {row.digest_version}, "
        f"and this program has link model {LINK_MODEL} and digest version {DIGEST_VERSION}: "
        "their results cannot be compared to the bit"
    )


def _run_key(variant: Mapping[str, Any], repetition: int, seed: int) -> str:
    """Return a key that is different for each run of a plan."""
    return json.dumps([dict(variant), repetition, seed], sort_keys=True)


def _is_same(stored: Mapping[str, Any], planned: Mapping[str, Any]) -> bool:
    """Return whether a stored resolved scenario, even of an earlier version, is the planned one."""
    if _canonical_json(stored) == _canonical_json(planned):
        return True
    if not _is_part(json.loads(_canonical_json(stored)), json.loads(_canonical_json(planned))):
        return False
    try:
        (spec,) = plan_resolved(stored).runs
    except ScenarioError:  # this version refuses a scenario that the earlier one ran
        return False
    return _canonical_json(spec.resolved) == _canonical_json(planned)


def _is_part(stored: object, planned: object) -> bool:
    """Tell whether ``planned`` has all values of ``stored``; it may have more keys."""
    if isinstance(stored, dict) and isinstance(planned, dict):
        return all(
            key in planned and _is_part(value, planned[key]) for key, value in stored.items()
        )
    if isinstance(stored, list) and isinstance(planned, list):
        return len(stored) == len(planned) and all(map(_is_part, stored, planned))
    return stored == planned


def plan_resolved(resolved: Mapping[str, Any], experiment: str | None = None) -> Plan:
    """Return the plan of a resolved scenario, which has one run.

    Raises:
        ScenarioError: this version of the program refuses the scenario.
    """
    from orchestrator.files.temporary import temporary_folder
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load

    with temporary_folder("verify") as folder:
        file = folder / "stored.yaml"  # JSON is YAML
        file.write_text(json.dumps(dict(resolved)), encoding="utf-8")
        return plan(load(file), experiment)


def _canonical_json(resolved: Mapping[str, Any]) -> str:
    return json.dumps(dict(resolved), sort_keys=True)
