"""Runs scenarios, makes stored runs again, and makes the runs of a crate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import backends
from orchestrator.application import (
    experiments,
    repeating,
    scenario_figures,
    stored_plans,
    suite,
)
from orchestrator.application.events import (
    DigestCompared,
    Listener,
    PlanWarned,
    ScenarioMeasured,
    notices,
)
from orchestrator.application.making_runs import RunSettings, execute, make_runs
from orchestrator.application.outcomes import ScenarioOutcome, SuiteResult
from orchestrator.errors import Fault, RunError, Unfaithful, UsageError
from results.experiment.expectations import evaluate
from results.experiment.experiments import of_runs
from results.runs import result
from results.runs.model import RunResult
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario import LoadedScenario
    from results.experiment.expectations import Expectation, ExpectationResult


@dataclass(frozen=True)
class ScenarioRequest:
    """What is run of scenario files, and where their figures go.

    ``overrides`` are values as of ``--set``. ``reduced`` means the reduced form of each file, and
    ``resume`` that runs are used that are stored with equal content. Without a ``folder`` figures
    go to a folder beside the store.
    """

    files: Sequence[Path]
    overrides: Sequence[str] = ()
    reduced: bool = False
    resume: bool = False
    folder: Path | None = None


def run_scenarios(
    request: ScenarioRequest, settings: RunSettings, listener: Listener
) -> SuiteResult:
    """Run one scenario, or several as a suite; all are validated before anything runs.

    Raises:
        ScenarioError: a file is not valid, or a figure of it can never be drawn.
        UsageError: a file is named twice, or has no reduced form.
    """
    with backends.beginning(settings.backend, settings.unconfined):
        loaded = suite.load_all(request.files, request.overrides, request.reduced)
        figures = [figure for scenario in loaded for figure in scenario.scenario.figures]
        scenario_figures.prepare(figures, request.folder)
        several = len(loaded) > 1

        def run(one: LoadedScenario) -> SuiteResult:
            return _run_scenario(one, request, settings, listener, several)

        return suite.run_all(loaded, run, listener) if several else run(loaded[0])


def _run_scenario(
    loaded: LoadedScenario,
    request: ScenarioRequest,
    settings: RunSettings,
    listener: Listener,
    several: bool,
) -> SuiteResult:
    """Run a scenario and draw its figures; ``several`` scenarios have a folder each."""

    told: set[Fault] = set()

    def make(plan: Plan) -> list[str]:
        for fault in plan.warnings:
            if fault not in told:
                told.add(fault)
                listener(PlanWarned(fault.where, fault.message))
        return make_runs(plan, request.resume, settings, listener)

    ids = repeating.run(loaded, make, settings.db, listener)
    runs = _results(ids, settings.db)
    expected = loaded.scenario.expect
    expectations = _evaluated(expected, ids, settings.db)
    listener(ScenarioMeasured(ids, runs, expectations))
    undrawn = scenario_figures.draw(
        loaded.scenario.figures, ids, settings.db, request.folder, listener, several
    )
    status = exit_status(runs, all(expectation.met for expectation in expectations)) or undrawn
    outcome = ScenarioOutcome.of(runs, status)
    return SuiteResult(
        [replace(outcome, expectations=expectations if expected else None)], ids, status
    )


def verify(what: str, settings: RunSettings, listener: Listener) -> SuiteResult:
    """Make a stored run again, or all of an experiment, and compare the digests.

    The exit status is 1 if a digest differs.

    Raises:
        UsageError: there is no such run that could be equal to the bit.
    """
    with Store.open_existing(settings.db, notices(listener)) as store:
        verification = stored_plans.verification(
            _runs_of(store, what, listener), store, settings.backend
        )
    ids = execute(
        verification.plan, settings, listener, again=True, check=verification.require_kernel
    )
    with Store.open_read_only(settings.db) as store:
        digests = {run_id: store.load(run_id).row.digest for run_id in ids}
    same = len(ids) == len(verification.stored)
    for (run_id, digest), stored in zip(digests.items(), verification.stored, strict=False):
        for before, expected in stored.items():
            equal = digest == expected
            same = same and equal
            listener(DigestCompared(run_id, before, expected, equal))
    runs = _results(ids, settings.db)
    listener(ScenarioMeasured(ids, runs, ()))
    status = exit_status(runs, same)
    return SuiteResult([ScenarioOutcome.of(runs, status)], ids, status)


def _runs_of(store: Store, what: str, listener: Listener) -> list[str]:
    """Return the run that is named, or the runs of an experiment that ended ok."""
    experiment = experiments.run_or_experiment(store, what, notices(listener))
    if isinstance(experiment, str):
        return [experiment]
    runs = [row.id for row in experiment.rows if row.status == "ok"]
    if not runs:
        raise UsageError(f"--verify: no run of {experiment.label} is ok: there is none to verify")
    return runs


def run_crate(path: Path, resume: bool, settings: RunSettings, listener: Listener) -> SuiteResult:
    """Make the runs of a crate again, and compare them with the crate's.

    The exit status is 0 when all are, else 1.

    Raises:
        CrateError: it is malformed, or has another kernel or link model.
    """
    from orchestrator.application.crate_runs import plan_crate  # slow to import, rarely needed

    planned = plan_crate(path, settings.backend)
    ids = make_runs(planned.plan, resume, settings, listener, planned.require_kernel)
    with Store.open_read_only(settings.db) as store:
        runs = result.of_ids(store, ids)
        compared = planned.compare(ids, store)
    listener(ScenarioMeasured(ids, runs, ()))
    status = compared.exit_status
    return SuiteResult([replace(ScenarioOutcome.of(runs, status), crate=compared)], ids, status)


def exit_status(runs: Sequence[RunResult], same: bool = True) -> int:
    """Return 1 when a run failed or is not as it should be, 3 when one is unfaithful, else 0.

    ``same`` is False if a digest differs or an expectation is not met.
    """
    if not same or any(run.row.status != "ok" for run in runs):
        return RunError.exit_status
    if any(run.row.verdict == "unfaithful" for run in runs):
        return Unfaithful.exit_status
    return 0


def _results(ids: Sequence[str], db: Path) -> list[RunResult]:
    with Store.open_read_only(db) as store:
        return result.of_ids(store, ids)


def _evaluated(
    expectations: Sequence[Expectation], ids: Sequence[str], db: Path
) -> list[ExpectationResult]:
    """Return what each expectation finds in each variant; see ``expectations.evaluate``."""
    if not expectations or not ids:
        return []

    with Store.open_read_only(db) as store:
        return evaluate(store, of_runs(store, ids), expectations)
