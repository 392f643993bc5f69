"""Finds the runs of a plan that are stored already, and plans a stored run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from guest import build
from guest.choice import DEFAULT as CHOICE_DEFAULT
from orchestrator import plaintext
from orchestrator.backends import DEFAULT
from orchestrator.backends.guest import Guest
from orchestrator.errors import ScenarioError, UsageError
from orchestrator.files.scenario_files import (
    ResolvedScenario,
    by_content,
    content_of,
    may_name_files,
    values_in,
    without_lab_hosts,
)
from orchestrator.planning import captures
from orchestrator.planning.plan import plan
from orchestrator.protocol.version import DIGEST_VERSION, LINK_MODEL
from orchestrator.scenario.loader import load_values
from results.crate import crate_plan
from results.crate.crate_plan import CrateRun, inputs_of

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from guest.choice import KernelChoice
    from orchestrator.backends.contract import Backend
    from orchestrator.planning.plan import Plan
    from orchestrator.planning.runspec import RunSpec
    from results.crate.crate_plan import CrateKernel
    from results.records.model import RunHead, RunRow
    from results.store.store import Store
    from results.store.stored import StoredRun


@dataclass(frozen=True)
class RemainingRuns:
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
class Asker:
    """The command or option that makes stored runs again; ``name`` is that of its errors.

    ``takes_backend`` tells whether the user can name another back end.
    """

    name: str
    verb: str
    takes_backend: bool


VERIFY = Asker("--verify", "verify", takes_backend=True)
ZOOM = Asker("zoom", "zoom into", takes_backend=False)
EXPLAIN = Asker("explain", "explain", takes_backend=False)
DIFF = Asker("diff", "compare", takes_backend=False)


@dataclass(frozen=True)
class Verification:
    """A plan of stored runs.

    ``stored`` has the ids and digests of all stored runs that each run of the plan repeats.
    ``kernels`` has the kernel of each of them, and the commit of its program, by the run's id.
    A run of the plan has the kernel of the run that it repeats, if that is still in the cache.
    """

    plan: Plan
    stored: list[dict[str, str]]
    kernels: Mapping[str, tuple[CrateKernel, str | None]]
    asker: Asker

    def require_kernel(self, backend: Backend) -> None:
        """Raise UsageError when a run had another kernel than the back end's."""
        for spec, digests in zip(self.plan.runs, self.stored, strict=True):
            for run_id in digests:
                kernel, commit = self.kernels[run_id]
                other = other_kernel(run_id, kernel, commit, kernel_of(backend, spec))
                if other is not None:
                    raise UsageError(f"{self.asker.name}: {other}")


def remaining(plan: Plan, store: Store, backend: str) -> RemainingRuns:
    """Leave out of a plan the runs that are stored as ok.

    A stored run is the same when its resolved scenario, variant, repetition and seed are equal, and
    so are the contents of the files that its scenario names. Their paths may differ.
    Earlier versions resolved a scenario to fewer keys; such a run is the same when this version
    resolves its scenario to the planned one.

    Raises:
        UsageError: a run of the plan is stored, but only with another link model or digest version.
            It must not be grouped with runs of this program.
    """
    same = _same(plan, store, backend)
    others = [row for row in same if row is not None and not is_of_this_program(row)]
    if others:
        raise UsageError(
            f"--resume: {versions_differ(others[0])}\n"
            "  fix: run it again as a new run: without --resume, or with --resume and another --db"
        )
    ids = tuple(None if row is None else row.id for row in same)
    missing = [spec for spec, run_id in zip(plan.runs, ids, strict=True) if run_id is None]
    return RemainingRuns(replace(plan, runs=missing), ids)


def stored(plan: Plan, store: Store, backend: str) -> list[bool]:
    """Tell for each run of a plan whether it is stored as ok, made by this program's versions."""
    same = _same(plan, store, backend)
    return [row is not None and is_of_this_program(row) for row in same]


def _same(plan: Plan, store: Store, backend: str) -> list[RunRow | None]:
    """Return for each run of a plan the stored run that is the same; see :func:`remaining`."""
    run_keys = [_run_key(spec, spec.resolved) for spec in plan.runs]
    known: dict[str, list[tuple[StoredRun, RunRow]]] = {run_key: [] for run_key in run_keys}
    for row in store.list_runs():
        if row.status != "ok" or row.backend != backend:
            continue
        resolved = store.load(row.id).head.resolved if may_name_files(row.variant) else {}
        run_key = _run_key(row, resolved)
        if run_key in known:
            known[run_key].append((store.load(row.id), row))
    kernels = _Kernels()
    return [
        _newest(
            row
            for run, row in known[run_key]
            if _is_same(run, spec.resolved) and (backend != DEFAULT or kernels.had(run, spec))
        )
        for run_key, spec in zip(run_keys, plan.runs, strict=True)
    ]


class _Kernels:
    """Tells whether stored runs had the kernels that planned ones would have now."""

    def __init__(self) -> None:
        self._inputs: dict[KernelChoice, build.BuildInputs | None] = {}

    def had(self, run: StoredRun, spec: RunSpec) -> bool:
        """Tell whether a stored run had the planned kernel, as far as that is known.

        A run that does not tell its kernel had it, if the planned run names none.
        """
        manifest = run.provenance.get("guest_kernel")
        if not isinstance(manifest, Mapping) or not isinstance(manifest.get("inputs"), Mapping):
            return spec.kernel == CHOICE_DEFAULT
        if spec.kernel.built_from is not None:
            return build.inputs_without_compiler(manifest) == spec.kernel.built_from
        if spec.kernel not in self._inputs:
            self._inputs[spec.kernel] = build.inputs_known(spec.kernel)
        wanted = self._inputs[spec.kernel]
        return wanted is None or replace(wanted, compiler=None).admit(manifest)


def verification(
    runs: Sequence[str], store: Store, backend: str, asker: Asker = VERIFY
) -> Verification:
    """Plan stored runs again, from what is stored with them; equal ones once.

    Raises:
        UsageError: there is no such run, it did not end ok, it ran on another back end, or with
            another link model, or its digest has another version.
    """
    plans: dict[str, Plan] = {}
    digests: dict[str, dict[str, str]] = {}
    kernels: dict[str, tuple[CrateKernel, str | None]] = {}
    for stored in store.load_many([store.resolve(run) for run in runs]):
        again = _again(stored, backend, asker)
        (spec,) = again.runs
        of = {"of": dict(spec.variant), "kernel_inputs": spec.kernel.built_from}
        key = _canonical_json({**spec.resolved, **of})
        plans.setdefault(key, again)
        digests.setdefault(key, {})[stored.id] = str(stored.row.digest)
        kernels[stored.id] = crate_plan.kernel_of(stored), stored.head.git_commit
    first = next(iter(plans.values()))
    specs = [spec for stored_plan in plans.values() for spec in stored_plan.runs]
    return Verification(replace(first, runs=specs), list(digests.values()), kernels, asker)


def kernel_of(backend: Backend, spec: RunSpec) -> GuestKernel:
    """Return the kernel of a run on a back end on which equal runs give equal digests."""
    assert isinstance(backend, Guest), "the digests of others are not compared"
    return backend.kernel_of(spec)


def other_kernel(
    run_id: str, theirs: CrateKernel, git_commit: str | None, kernel: GuestKernel
) -> str | None:
    """Return what differs when a run had another kernel, whatever compiler built it, else None."""
    inputs, ours = theirs.inputs, inputs_of({"guest_kernel": kernel.manifest})
    if (theirs.release, inputs) == (kernel.release, ours):
        return None
    other = [name for name in sorted(inputs.keys() | ours) if inputs.get(name) != ours.get(name)]
    what = f" of other {' and '.join(other)}" if other else ""
    return (
        f"run {run_id} has the kernel {theirs.release}, and this machine's guest has "
        f"{kernel.release}{what}: their results cannot be compared to the bit{fix(git_commit)}"
    )


def fix(git_commit: str | None) -> str:
    """Return how a run of another program is made again; ``git_commit`` is a stranger's text."""
    stored = git_commit or ""
    commit = plaintext.visible(stored.removesuffix("+"))
    changed = ", with changes that were not committed" if stored.endswith("+") else ""
    checkout = f": git checkout {commit}{changed}" if commit else ""
    return f"\n  fix: use the program of its time{checkout}"


def require_ok(stored: StoredRun, asker: Asker) -> None:
    """Raise UsageError when a run did not end well: its flows and its end are not known."""
    if stored.status != "ok" or stored.row.digest is None:
        raise UsageError(
            f"{asker.name}: run {stored.id} is {stored.status}; only a run that is ok can be made "
            "again"
        )


def _again(stored: StoredRun, backend: str, asker: Asker) -> Plan:
    """Return the plan of one stored run; UsageError as :func:`verification`."""
    require_ok(stored, asker)
    head = stored.head
    if head.backend != backend:
        fix = f": give --backend {head.backend}" if asker.takes_backend else ""
        raise UsageError(
            f"{asker.name}: run {stored.id} ran with --backend {head.backend}, not {backend}{fix}"
        )
    if not is_of_this_program(stored.row):
        raise UsageError(
            f"{asker.name}: {versions_differ(stored.row)}\n"
            "  fix: run its scenario again as a new run (orchestrator run FILE) and "
            f"{asker.verb} that"
        )
    again = plan_stored(stored)
    (spec,) = again.runs
    resolved = replace(
        spec,
        resolved={**head.resolved, **spec.resolved},
        capture=None,
        kernel=replace(spec.kernel, built_from=_built_from(stored)),
    )
    text = ScenarioText(head.scenario_text, head.scenario_sha256)
    return as_in(head, replace(again, runs=[resolved]), text)


def _built_from(stored: StoredRun) -> str | None:
    """Return the inputs of a run's kernel as JSON, None where they are not known."""
    manifest = stored.provenance.get("guest_kernel")
    return build.inputs_without_compiler(manifest) if isinstance(manifest, Mapping) else None


@dataclass(frozen=True)
class ScenarioText:
    """The file of a scenario as it was, and its SHA-256 in hexadecimal."""

    text: str
    sha256: str


def as_in(made: RunHead | CrateRun, again: Plan, text: ScenarioText) -> Plan:
    """Return the plan of a resolved scenario with the run's text and place in its experiment."""
    (spec,) = again.runs
    rule = made.rule if isinstance(made, CrateRun) else made.repetition_rule
    spec = replace(
        spec,
        scenario_text=text.text,
        scenario_sha256=text.sha256,
        variant=dict(made.variant),
        variant_sets={axis: dict(values) for axis, values in made.variant_sets.items()},
        repetition=made.repetition,
        experiment_sha256=made.experiment_sha256,
        repetition_rule=rule,
    )
    return replace(again, runs=[spec])


def _newest(rows: Iterable[RunRow]) -> RunRow | None:
    """Return the last run with this program's versions, else the last run, else None."""
    ordered = sorted(rows, key=is_of_this_program)  # which keeps the order of time otherwise
    return ordered[-1] if ordered else None


def is_of_this_program(row: RunRow | CrateRun) -> bool:
    """Tell whether the run's links and digest are those of runs that this program makes."""
    return (row.link_model, row.digest_version) == (LINK_MODEL, DIGEST_VERSION)


def versions_differ(row: RunRow | CrateRun) -> str:
    """Return what differs when a run is not of this program's versions."""
    return (
        f"run {row.id} has link model {row.link_model} and digest version {row.digest_version}, "
        f"and this program has link model {LINK_MODEL} and digest version {DIGEST_VERSION}: "
        "their results cannot be compared to the bit"
    )


def _run_key(run: RunSpec | RunRow, resolved: ResolvedScenario) -> str:
    """Return a key that is different for each run of a plan, whatever paths name its files."""
    variant = values_in(run.variant, resolved, content_of)
    return json.dumps([variant, run.repetition, run.seed], sort_keys=True)


def _is_same(run: StoredRun, planned: ResolvedScenario) -> bool:
    """Return whether a stored run's scenario, even of an earlier version, is the planned one."""
    stored = run.head.resolved
    if _canonical_json(stored) == _canonical_json(planned):
        return True
    if not _is_part(by_content(_untraced(stored)), by_content(_untraced(planned))):
        return False
    try:
        (spec,) = plan_stored(run).runs
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


def plan_stored(run: StoredRun) -> Plan:
    """Return the plan of a stored run, from what is stored alone.

    Raises:
        ScenarioError: this version of the program refuses the scenario.
        StoreError: the run is damaged.
    """
    return plan_resolved(run.head.resolved, run.files, run.head.experiment)


def plan_resolved(
    resolved: ResolvedScenario, files: dict[str, bytes], experiment: str | None = None
) -> Plan:
    """Return the plan of a resolved scenario, which has one run; ``files`` are those it names.

    The hosts of a lab are left out: how they are reached is not stored. The run has no text of its
    scenario.

    Raises:
        ScenarioError: this version of the program refuses the scenario.
    """
    return plan(load_values(without_lab_hosts(resolved), files), experiment)


def _canonical_json(resolved: ResolvedScenario) -> str:
    """Return what a resolved scenario asks for, whatever paths name its files."""
    return json.dumps(by_content(_untraced(resolved)), sort_keys=True)


def _untraced(resolved: ResolvedScenario) -> ResolvedScenario:
    """Return a resolved scenario without what it traces, which changes nothing of the run."""
    return {key: value for key, value in resolved.items() if key != captures.KEY}
