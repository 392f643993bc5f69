"""Makes the runs of a crate again, and compares their digests with those in the crate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import backends, plaintext
from orchestrator.application import stored_plans
from orchestrator.errors import OrchestratorError, RunError
from results.crate.crate_reading import Crate, CrateError, read_crate

if TYPE_CHECKING:
    from orchestrator.backends.contract import Backend
    from orchestrator.planning.plan import Plan
    from results.crate.crate_plan import CrateRun
    from results.store.store import Store


@dataclass(frozen=True)
class CrateRunCompared:
    """A run that was made again. ``crate_run`` and ``digest`` are id and digest in the crate."""

    crate_run: str
    run: str
    digest: str | None
    same: bool


@dataclass(frozen=True)
class CrateComparison:
    """Which runs of a crate are bit-identical when they are made again."""

    path: Path
    compared: Sequence[CrateRunCompared]

    @property
    def bit_identical(self) -> int:
        """The number of bit-identical runs."""
        return sum(run.same for run in self.compared)

    @property
    def exit_status(self) -> int:
        """0 when all runs are bit-identical, else 1."""
        return 0 if self.bit_identical == len(self.compared) else RunError.exit_status


@dataclass(frozen=True)
class PlannedCrate:
    """The runs of a crate, planned, with the digests that they should have."""

    path: Path
    plan: Plan
    runs: Sequence[CrateRun]

    def require_kernel(self, backend: Backend) -> None:
        """Raise CrateError when a run had another kernel than the back end's."""
        for spec, run in zip(self.plan.runs, self.runs, strict=True):
            kernel = stored_plans.kernel_of(backend, spec)
            other = stored_plans.other_kernel(run.id, run.kernel, run.git_commit, kernel)
            if other is not None:
                raise CrateError(f"{self.path}: {other}")

    def compare(self, ids: Sequence[str], store: Store) -> CrateComparison:
        """Compare the digests of the runs that were made; ``ids`` are in the order of the plan."""
        rows = [store.load(run_id).row for run_id in ids]
        return CrateComparison(
            self.path,
            [
                CrateRunCompared(run.id, row.id, run.digest, row.digest == run.digest)
                for run, row in zip(self.runs, rows, strict=True)
            ],
        )


def plan_crate(path: Path, backend: str) -> PlannedCrate:
    """Read a crate and plan its runs, all before anything runs.

    Raises:
        CrateError: it is malformed, has no run that can be made again, or its runs had another link
            model or version of digests.
    """
    crate = read_crate(path)
    if not crate.plan.runs:
        raise CrateError(f"{path}: no run of the crate ended ok: there is nothing to compare with")
    for run in crate.plan.runs:
        _require_versions(path, run, backend)
    planned = [_planned(crate, run) for run in crate.plan.runs]
    plan = replace(planned[0], runs=[single.runs[0] for single in planned], warnings=[])
    return PlannedCrate(path, plan, crate.plan.runs)


def _planned(crate: Crate, run: CrateRun) -> Plan:
    """Return the plan of one run.

    Raises:
        CrateError: this program refuses its scenario, or it is not that of one run.
    """
    try:
        plan = stored_plans.plan_resolved(run.scenario, crate.files_of(run), crate.plan.experiment)
    except OrchestratorError as error:
        text = plaintext.visible(plaintext.shortened(str(error), 1000))
        raise CrateError(f"{crate.path}: run {run.id} is refused: {text}") from error
    if len(plan.runs) != 1 or plan.runs[0].seed != run.seed:
        raise CrateError(f"{crate.path}: the scenario of run {run.id} is not that of one run")
    content = crate.contents[run.scenario_file]
    scenario_text = stored_plans.ScenarioText(
        content.decode("utf-8-sig", errors="replace"), hashlib.sha256(content).hexdigest()
    )
    (spec,) = plan.runs
    inputs = json.dumps(run.kernel.inputs, sort_keys=True) if run.kernel.inputs else None
    same = replace(plan, runs=[replace(spec, kernel=replace(spec.kernel, built_from=inputs))])
    return stored_plans.as_in(run, same, scenario_text)


def _require_versions(path: Path, run: CrateRun, backend: str) -> None:
    """Raise CrateError unless a run of this program can be equal to the bit."""
    if not run.backend == backend == backends.DEFAULT:
        raise CrateError(
            f"{path}: run {run.id} ran with --backend {run.backend}, and would run with --backend "
            f"{backend}: only runs of {backends.DEFAULT} are bit-identical"
        )
    if not stored_plans.is_of_this_program(run):
        differ = stored_plans.versions_differ(run)
        raise CrateError(f"{path}: {differ}{stored_plans.fix(run.git_commit)}")
