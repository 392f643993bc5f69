"""What is evaluated: the controls, the criteria, and their experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.backends.guest.features import lack_of_kernel
from orchestrator.errors import UsageError
from orchestrator.evaluation import code, controls, experiments, loading
from orchestrator.evaluation.card.names import JSON as CARD
from orchestrator.units import listed, shown
from results.contract import evaluations as contract
from results.documents import card_library
from results.documents.card_document import read_card

if TYPE_CHECKING:
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.experiments import CardExperiment, Length
    from orchestrator.evaluation.model import Criterion

NEUTRAL = controls.Control("reno")
"""A control that each kernel has."""

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
        only: names of criteria or of groups of them; the group ``rfc9743`` where there is none.
        required: names of criteria or groups that must be met; the exit status is 1 if one is not.
            Of a group those count that are applicable.
        kernel: the guest's kernel, as a scenario names it; the machine's default where it is None.
        baseline: what the card is compared with: a congestion control, the folder of a module's
            sources, a card.json or its folder, or a reference card, such as ``library:cubic-6.12``.
        pdf: whether the card is written as a PDF, too.
        explain: whether a run of each criterion that is not met is made again, and explained.
        folder: where the card is written; its scenarios have their places below it.
    """

    candidate: str
    folder: Path
    against: Sequence[str] = AGAINST
    length: Length = "quick"
    only: Sequence[str] = ()
    required: Sequence[str] = ()
    kernel: str | None = None
    baseline: str | None = None
    pdf: bool = False
    explain: bool = True


@dataclass(frozen=True)
class PreparedEvaluation:
    """The criteria that a request names, with the experiments that they need.

    ``baseline`` is what the card is compared with: an evaluation of its own, or a card that was
    written earlier. ``lacks`` has the criteria that the kernel cannot have, with what it lacks.
    They have no experiments.
    """

    request: EvaluationRequest
    candidate: Control
    references: Sequence[Control]
    criteria: Mapping[str, Criterion]
    experiments: Mapping[str, Sequence[CardExperiment]]
    baseline: PreparedEvaluation | contract.Card | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_experiments(self) -> dict[str, list[CardExperiment]]:
        """The experiments by criterion, with those of the baseline that are not the same."""
        every = {name: list(found) for name, found in self.experiments.items()}
        if isinstance(self.baseline, PreparedEvaluation):
            for name, found in self.baseline.experiments.items():
                own = {one.pairing for one in every[name]}
                every[name] += [one for one in found if one.pairing not in own]
        return every


def prepare(request: EvaluationRequest) -> PreparedEvaluation:
    """Find the controls and the criteria, and plan the runs.

    Raises:
        MachineError: there is no source of the kernel.
        ScenarioError: the candidate cannot be used in a scenario.
        UsageError: there is no such control, module or criterion.
    """
    candidate = controls.candidate(request.candidate)
    references = controls.references(request.against, candidate)
    every = loading.load_all()
    chosen = _of_length(loading.select(every, request.only, "--only"), request.length)
    for option, names in (("--only", request.only), ("--require", request.required)):
        _require_full(every, names, option, request.length)
    named = request.required
    if named:
        required = tuple(_of_length(loading.select(every, named, "--require"), request.length))
        request = replace(request, required=required)
    absent = [name for name in request.required if name not in chosen]
    if absent:
        raise UsageError(f"--require {absent[0]}: --only leaves it out; name it there, too")
    lacks = {
        name: lack
        for name, criterion in chosen.items()
        if (lack := _lack(name, criterion, request, candidate)) is not None
    }
    # A group asks for what the kernel can have: else no group could be required on an older one.
    required = tuple(name for name in request.required if name in named or name not in lacks)
    request = replace(request, required=required)
    chosen |= {
        name: code.with_draws(criterion, candidate)
        for name, criterion in chosen.items()
        if criterion.of_code and name not in lacks
    }
    found = {
        name: []
        if name in lacks or code.is_without_runs(criterion)
        else experiments.prepare(
            name,
            criterion,
            experiments.pairings(criterion, candidate, references),
            request.length,
            request.folder,
            request.kernel,
        )
        for name, criterion in chosen.items()
    }
    return PreparedEvaluation(
        request, candidate, references, chosen, found, _baseline(request), lacks
    )


def _of_length(criteria: Mapping[str, Criterion], length: Length) -> dict[str, Criterion]:
    """Return the criteria that a length has."""
    return {name: one for name, one in criteria.items() if length == "full" or not one.of_code}


def _require_full(
    every: Mapping[str, Criterion], names: Sequence[str], option: str, length: Length
) -> None:
    for name in names:
        if length != "full" and name in every and every[name].of_code:
            raise UsageError(f"{option} {name}: is part of full evaluations alone; add --full")


def _lack(
    name: str, criterion: Criterion, request: EvaluationRequest, candidate: Control
) -> str | None:
    """Return why a criterion is not applicable: what the kernel lacks of what its scenario wants.

    None if it is applicable. The scenario is that with a control which each kernel has. What a
    candidate or a reference itself wants of a kernel is an error of the call, and no property of
    the criterion.
    """
    if criterion.of_code and candidate.folder is None:
        return f"{candidate.name} is no folder of a module, whose code could be compiled"
    anyone = [experiments.Pairing(NEUTRAL, NEUTRAL if criterion.mixed else None)]
    (planned,) = experiments.prepare(
        name, criterion, anyone, request.length, request.folder, request.kernel
    )
    return lack_of_kernel(planned.plan.runs)


def _baseline(request: EvaluationRequest) -> PreparedEvaluation | contract.Card | None:
    """Return what the card is compared with.

    Raises:
        UsageError: it is no control, no module and no card, or a card of another length.
    """
    if request.baseline is None:
        return None
    if request.baseline.startswith(card_library.PREFIX):
        name = request.baseline.removeprefix(card_library.PREFIX)
        return _same_length(card_library.read(name).card, request)
    path = Path(request.baseline)
    file = path / CARD if (path / CARD).is_file() else path
    if file.suffix != ".json":
        folder = request.folder / "baseline"
        own = replace(
            request, candidate=request.baseline, baseline=None, folder=folder, required=()
        )
        return prepare(own)
    try:
        card = read_card(file)
    except UsageError as error:
        raise UsageError(
            f"--baseline: {error}\n  fix: name a card.json that `orchestrator evaluate` wrote"
        ) from None
    return _same_length(card, request)


def _same_length(card: contract.Card, request: EvaluationRequest) -> contract.Card:
    """Return a baseline's card; UsageError if it has another length."""
    if card.length != request.length:
        raise UsageError(
            f"--baseline {request.baseline}: is a {card.length} card, and this would be a "
            f"{request.length} one\n  fix: add --{card.length}, or name a {request.length} card"
        )
    return card
