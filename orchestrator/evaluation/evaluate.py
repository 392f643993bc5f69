"""Makes the report card of a congestion control: its runs, its grades and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.application import making_runs
from orchestrator.application.events import Listener
from orchestrator.errors import RunError
from orchestrator.evaluation import code, reasons
from orchestrator.evaluation.card import changes, document, files
from orchestrator.evaluation.judging import JudgedCriterion, PairKey, judge
from orchestrator.evaluation.prepared import PreparedEvaluation
from orchestrator.evaluation.verdicts import LIMITED, MEETS, Grade
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan
from results.contract.evaluations import Card
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings


@dataclass(frozen=True)
class EvaluationResult:
    """What was found. ``status`` is the exit status."""

    prepared: PreparedEvaluation
    judged: Sequence[JudgedCriterion]
    db: Path
    status: int
    baseline: EvaluationResult | None = None

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
        return self.card.document()

    @property
    def card(self) -> Card:
        """The card as a model, with what changed from the baseline, if there is one."""
        made = document.of_card(self.prepared, self.judged, self.db)
        before = self.prepared.baseline if self.baseline is None else self.baseline.card
        if isinstance(before, Card):
            made.changes = changes.changes(before, made)
        return made

    def write(self) -> list[Path]:
        """Write the card into its folder and return its files; an earlier card is replaced.

        Raises:
            UsageError: the folder has files and no card, or cannot be written.
        """
        texts = files.texts(self.prepared, self.judged, self.card, self.db)
        if self.baseline is not None:
            own = self.baseline
            below = files.texts(own.prepared, own.judged, own.card, own.db)
            texts |= {f"{files.BASELINE}/{name}": text for name, text in below.items()}
        return files.write(self.prepared.request.folder, texts)


def evaluate(
    prepared: PreparedEvaluation, settings: RunSettings, listener: Listener
) -> EvaluationResult:
    """Make the runs that are missing, and judge all criteria by them.

    The status is 1 if a run failed, or if a criterion that is required is not met. A criterion that
    is met with limits is met.
    """
    files.require_folder(prepared.request.folder)
    before = None
    if isinstance(prepared.baseline, PreparedEvaluation):
        before = _evaluated(prepared.baseline, settings, listener)
    return replace(_evaluated(prepared, settings, listener), baseline=before)


def _evaluated(
    prepared: PreparedEvaluation, settings: RunSettings, listener: Listener
) -> EvaluationResult:
    ids = _make_runs(prepared, settings, listener)
    judged = _judged(prepared, ids, settings.db)
    judged = [
        replace(one, checks=code.builds(prepared.candidate, listener))
        if one.criterion.of_code and one.lack is None
        else one
        for one in judged
    ]
    if prepared.request.explain:
        judged = [reasons.explained(one, settings, listener) for one in judged]
    unmet = [
        one for one in judged
        if one.name in prepared.request.required and one.grade not in (MEETS, LIMITED)
    ]  # fmt: skip
    failed = any(row.status != "ok" for one in judged for row in one.rows)
    status = RunError.exit_status if failed or unmet else 0
    return EvaluationResult(prepared, judged, settings.db, status)


def _judged(
    prepared: PreparedEvaluation, ids: Mapping[str, dict[PairKey, list[str]]], db: Path
) -> list[JudgedCriterion]:
    """Return the criteria in their order; those without runs have no cells."""
    found = {
        name: JudgedCriterion(name, criterion, (), (), (), lack=prepared.lacks.get(name))
        for name, criterion in prepared.criteria.items()
    }
    if not any(ids.values()):
        return list(found.values())
    with Store.open_read_only(db) as store:
        for name, criterion in prepared.criteria.items():
            if ids[name]:
                made = prepared.experiments[name]
                found[name] = judge(name, criterion, prepared.candidate, made, ids[name], store)
    return list(found.values())


def _make_runs(
    prepared: PreparedEvaluation, settings: RunSettings, listener: Listener
) -> dict[str, dict[PairKey, list[str]]]:
    """Make the runs of all criteria as one plan; return their ids by criterion and pairing.

    Experiments with the longest runs come first, so that all workers are busy until its end.
    """
    every = [one for found in prepared.experiments.values() for one in found]
    if not every:
        return {name: {} for name in prepared.experiments}
    every.sort(key=lambda one: -max(map(wall_s, one.plan.runs)))
    made = making_runs.make_runs(Plan.joined(one.plan for one in every), True, settings, listener)
    rest = iter(made)
    ids: dict[str, dict[PairKey, list[str]]] = {name: {} for name in prepared.experiments}
    for one in every:
        ids[one.criterion][one.pairing.key] = [next(rest) for _run in one.plan.runs]
    return ids
