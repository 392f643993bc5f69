"""What becomes of the runs of a command: the results of use cases that make runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from results.contract import outcomes as contract
from results.contract.base import SCHEMA
from results.documents import run_document

if TYPE_CHECKING:
    from orchestrator.application.crate_runs import CrateComparison
    from results.experiment.expectations import ExpectationResult
    from results.runs.model import RunResult


@dataclass(frozen=True)
class ScenarioOutcome:
    """The runs of a scenario, of a verification or of a crate.

    ``experiment`` and ``scenario`` are None where those of the runs differ. ``expectations`` is
    None where the scenario expects nothing. ``crate`` is the comparison with the crate that was
    run. ``error`` is why a scenario of a suite could not be run.
    """

    experiment: str | None
    scenario: str | None
    runs: Sequence[RunResult]
    status: int
    expectations: Sequence[ExpectationResult] | None = None
    crate: CrateComparison | None = None
    file: Path | None = None
    error: str | None = None

    @classmethod
    def of(cls, runs: Sequence[RunResult], status: int) -> Self:
        """Return the outcome of some runs."""
        experiment = run_document.common(run.row.experiment for run in runs)
        scenario = run_document.common(run.row.scenario for run in runs)
        return cls(experiment, scenario, runs, status)

    def in_suite(self, file: Path, error: str | None) -> Self:
        """Return the outcome as that of one file of several."""
        return replace(self, file=file, error=error)

    def document(self) -> dict[str, Any]:
        """Return the JSON contract."""
        return _outcome(self).document()


@dataclass(frozen=True)
class SuiteResult:
    """What became of runs: that of each scenario, and the exit status of them all.

    ``suite`` tells whether several files were given.
    """

    outcomes: Sequence[ScenarioOutcome] = field(repr=False)
    ids: Sequence[str]
    status: int
    suite: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``run``."""
        if not self.suite:
            return self.outcomes[0].document()
        return contract.Suite.model_construct(
            schema_=SCHEMA,
            exit_status=self.status,
            scenarios=[_outcome(outcome) for outcome in self.outcomes],
        ).document()


def _outcome(made: ScenarioOutcome) -> contract.Outcome:
    """Return an outcome with the keys that this one has."""
    outcome = contract.Outcome.model_construct(
        schema_=SCHEMA,
        experiment=made.experiment,
        scenario=made.scenario,
        runs=[run_document.whole(run) for run in made.runs],
    )
    if made.expectations is not None:
        outcome.expectations = [expectation(result) for result in made.expectations]
    if made.crate is not None:
        outcome.crate = _crate(made.crate)
    if made.file is not None:
        outcome.file, outcome.exit_status, outcome.error = str(made.file), made.status, made.error
    return outcome


def expectation(result: ExpectationResult) -> contract.Expectation:
    """Return what an expectation finds as the JSON contract has it."""
    return contract.Expectation.model_construct(
        expectation=result.expectation,
        metric=result.metric,
        flow=result.flow,
        variant=dict(result.variant),
        over=result.over,
        mean=result.mean,
        low=result.low,
        high=result.high,
        n=result.n,
        met=result.met,
        reason=result.reason,
    )


def _crate(comparison: CrateComparison) -> contract.Crate:
    return contract.Crate.model_construct(
        path=str(comparison.path),
        runs=len(comparison.compared),
        bit_identical=comparison.bit_identical,
        compared=[contract.CrateRun.model_construct(**vars(run)) for run in comparison.compared],
    )
