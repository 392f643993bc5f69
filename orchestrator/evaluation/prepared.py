"""What is evaluated: the controls, the criteria, and their experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError
from orchestrator.evaluation import controls, experiments, loading
from orchestrator.units import listed, shown

if TYPE_CHECKING:
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.experiments import CardExperiment, Length
    from orchestrator.evaluation.model import Criterion

LENGTHS: Mapping[str, Length] = {"quick": "quick", "full": "full"}

AGAINST = ("cubic", "reno", "bbr")
"""References unless others are named."""


def require_length(length: str) -> Length:
    """Return a length of evaluations.

    Raises:
        UsageError: there is none of that name.
    """
    found = LENGTHS.get(length)
    if found is None:
        raise UsageError(f"length: there is no {shown(length)}; there are {listed(LENGTHS)}")
    return found


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
