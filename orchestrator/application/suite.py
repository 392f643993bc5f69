"""Several scenario files in one command: a suite with one exit status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application.events import Listener, ScenarioBegun, ScenarioFailed
from orchestrator.application.outcomes import ScenarioOutcome, SuiteResult
from orchestrator.application.scenarios import drawable
from orchestrator.errors import (
    CleanupError,
    Fault,
    MachineError,
    OrchestratorError,
    OutputError,
    RunError,
    ScenarioError,
    Unfaithful,
    UsageError,
)
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

if TYPE_CHECKING:
    from orchestrator.scenario import LoadedScenario


WORST = (
    UsageError.exit_status, MachineError.exit_status, RunError.exit_status, Unfaithful.exit_status,
)  # fmt: skip
"""Exit statuses of failures, the one that counts most first."""


def load_all(
    files: Sequence[Path], overrides: Sequence[str], reduced: bool
) -> list[LoadedScenario]:
    """Load and plan all files, and draw their figures as planned, before anything runs.

    Raises:
        ScenarioError: with the faults of all files.
        UsageError: a file is named twice, or has no reduced form.
    """
    twice = [file for number, file in enumerate(files) if file in files[:number]]
    if twice:
        raise UsageError(f"{twice[0]}: is given twice")
    loaded: list[LoadedScenario] = []
    faults: list[Fault] = []
    for file in files:
        try:
            scenario = load(file, overrides, reduced)
            if len(files) > 1 or scenario.scenario.figures:  # else it is planned when it is run
                drawable.require(scenario, plan(scenario))
            loaded.append(scenario)
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(list(dict.fromkeys(faults)))
    return loaded


def run_all(
    loaded: Sequence[LoadedScenario],
    run: Callable[[LoadedScenario], SuiteResult],
    listener: Listener,
) -> SuiteResult:
    """Run scenario after scenario; one that fails does not keep the others from being run."""
    outcomes: list[ScenarioOutcome] = []
    ids: list[str] = []
    for scenario in loaded:
        listener(ScenarioBegun(scenario.path))
        ended, error = _run(scenario, run, listener)
        ids += ended.ids
        outcomes += [each.in_suite(scenario.path, error) for each in ended.outcomes]
    statuses = [each.status for each in outcomes]
    status = next((each for each in WORST if each in statuses), 0)
    return SuiteResult(outcomes, ids, status, suite=True)


def _run(
    scenario: LoadedScenario, run: Callable[[LoadedScenario], SuiteResult], listener: Listener
) -> tuple[SuiteResult, str | None]:
    """Run a scenario; return what became of it, and the error that ended it."""
    try:
        return run(scenario), None
    except (CleanupError, OutputError):
        raise  # nothing would clean up after the others, or show them
    except OrchestratorError as error:
        listener(ScenarioFailed(scenario.path, error))
        name = scenario.scenario.name
        outcome = ScenarioOutcome(name, name, [], error.exit_status)
        return SuiteResult([outcome], [], error.exit_status), str(error)
