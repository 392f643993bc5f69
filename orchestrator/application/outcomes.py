"""What becomes of the runs of a command: the results of use cases that make runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

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

    def document(self) -> dict[str, object]:
        """Return the JSON contract."""
        document: dict[str, object] = {
            "schema": SCHEMA,
            "experiment": self.experiment,
            "scenario": self.scenario,
            "runs": [run_document.whole(run).document() for run in self.runs],
        }
        if self.expectations is not None:
            document["expectations"] = [expectation.document() for expectation in self.expectations]
        if self.crate is not None:
            document["crate"] = self.crate.document()
        if self.file is not None:
            document |= {"file": str(self.file), "exit_status": self.status, "error": self.error}
        return document


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
    def document(self) -> dict[str, object]:
        """The JSON document of ``run``."""
        if not self.suite:
            return self.outcomes[0].document()
        return {
            "schema": SCHEMA,
            "exit_status": self.status,
            "scenarios": [outcome.document() for outcome in self.outcomes],
        }
