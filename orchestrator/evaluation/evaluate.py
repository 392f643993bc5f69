"""Makes the report card of a congestion control: its runs, its grades and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.application import making_runs
from orchestrator.application.events import Listener
from orchestrator.errors import RunError, UsageError
from orchestrator.evaluation import card, card_files, controls, costs, experiments, loading
from orchestrator.evaluation.judging import JudgedCriterion, PairKey, judge
from orchestrator.evaluation.verdicts import LIMITED, MEETS, Grade
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.experiments import CardExperiment, Length
    from orchestrator.evaluation.model import Criterion

AGAINST = ("cubic", "reno", "bbr")
"""References unless others are named."""


@dataclass(frozen=True)
class EvaluationRequest:
    """What is evaluated, and how.

    Attributes:
        candidate: the name of a congestion control, or the folder of a module's sources.
        against: names of the references.
        length: "quick" or "full".
        only: names of criteria; all where there is none.
        required: names of criteria that must be met; the exit status is 1 if one is not.
        folder: where the card is written; its scenarios have their places below it.
    """

    candidate: str
    folder: Path
    against: Sequence[str] = AGAINST
    length: Length = "quick"
    only: Sequence[str] = ()
    required: Sequence[str] = ()


@dataclass(frozen=True)
class PreparedEvaluation:
    """The criteria that a request names, with the experiments that they need."""

    request: EvaluationRequest
    candidate: Control
    references: Sequence[Control]
    criteria: Mapping[str, Criterion]
    experiments: Mapping[str, Sequence[CardExperiment]]

    def costs(self, db: Path) -> list[costs.CriterionCosts]:
        """Return what the runs of each criterion would cost; ``db`` has earlier runs."""
        return costs.of_criteria(self.experiments, db)


@dataclass(frozen=True)
class EvaluationResult:
    """What was found. ``status`` is the exit status."""

    prepared: PreparedEvaluation
    judged: Sequence[JudgedCriterion]
    db: Path
    status: int

    def __repr__(self) -> str:
        """Return the grades, short enough for a notebook."""
        return f"EvaluationResult(candidate={self.prepared.candidate.name!r}, grades={self.grades})"

    @property
    def grades(self) -> dict[str, Grade]:
        """The grade of each criterion."""
        return {one.name: one.grade for one in self.judged}

    @property
    def document(self) -> dict[str, Any]:
        """The JSON of the card."""
        return card.document(self.prepared, self.judged, self.db)

    def write(self) -> list[Path]:
        """Write the card into its folder and return its files; an earlier card is replaced.

        Raises:
            UsageError: the folder has files and no card, or cannot be written.
        """
        return card_files.write(self.prepared, self.judged, self.db)


def prepare(request: EvaluationRequest) -> PreparedEvaluation:
    """Find the controls and the criteria, and plan the runs.

    Raises:
        ScenarioError: the candidate cannot be used in a scenario.
        UsageError: there is no such control, module or criterion.
    """
    candidate = controls.candidate(request.candidate)
    references = controls.references(request.against, candidate)
    every = loading.load_all()
    chosen = loading.select(every, request.only, "--only")
    loading.select(every, request.required, "--require")
    absent = [name for name in request.required if name not in chosen]
    if absent:
        raise UsageError(f"--require {absent[0]}: --only leaves it out; name it there, too")
    found = {
        name: experiments.prepare(
            name,
            criterion,
            experiments.pairings(criterion, candidate, references),
            request.length,
            request.folder,
        )
        for name, criterion in chosen.items()
    }
    return PreparedEvaluation(request, candidate, references, chosen, found)


def evaluate(
    prepared: PreparedEvaluation, settings: RunSettings, listener: Listener
) -> EvaluationResult:
    """Make the runs that are missing, and judge all criteria by them.

    The status is 1 if a run failed, or if a criterion that is required is not met. A criterion that
    is met with limits is met.
    """
    card_files.require_folder(prepared.request.folder)
    ids = _make_runs(prepared, settings, listener)
    with Store.open_read_only(settings.db) as store:
        judged = [
            judge(name, criterion, prepared.candidate, prepared.experiments[name], ids[name], store)
            for name, criterion in prepared.criteria.items()
        ]
    unmet = [
        one for one in judged
        if one.name in prepared.request.required and one.grade not in (MEETS, LIMITED)
    ]  # fmt: skip
    failed = any(row.status != "ok" for one in judged for row in one.rows)
    status = RunError.exit_status if failed or unmet else 0
    return EvaluationResult(prepared, judged, settings.db, status)


def _make_runs(
    prepared: PreparedEvaluation, settings: RunSettings, listener: Listener
) -> dict[str, dict[PairKey, list[str]]]:
    """Make the runs of all criteria as one plan; return their ids by criterion and pairing.

    Experiments with the longest runs come first, so that all workers are busy until its end.
    """
    every = [one for found in prepared.experiments.values() for one in found]
    every.sort(key=lambda one: -max(map(wall_s, one.plan.runs)))
    made = making_runs.make_runs(Plan.joined(one.plan for one in every), True, settings, listener)
    rest = iter(made)
    ids: dict[str, dict[PairKey, list[str]]] = {name: {} for name in prepared.experiments}
    for one in every:
        ids[one.criterion][one.pairing.key] = [next(rest) for _run in one.plan.runs]
    return ids
