"""The experiments of criteria: a scenario for each control, and for each pair of controls."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ruamel.yaml import YAML

from orchestrator.evaluation.controls import Control
from orchestrator.evaluation.loading import FOLDER
from orchestrator.evaluation.model import CANDIDATE, REFERENCE, Criterion
from orchestrator.planning.plan import Plan, plan
from orchestrator.scenario.loader import load_text

if TYPE_CHECKING:
    from orchestrator.scenario import LoadedScenario

Length = Literal["quick", "full"]

SCENARIOS = "scenarios"
"""Folder of the scenarios, in that of the card."""


@dataclass(frozen=True)
class Pairing:
    """The control in the candidate's place, and the reference beside it, if there is one."""

    control: Control
    beside: Control | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """The names of both."""
        return self.control.name, None if self.beside is None else self.beside.name

    @property
    def file(self) -> str:
        """The name of the scenario's file."""
        beside = "" if self.beside is None else f"-beside-{self.beside.name}"
        return f"{self.control.name}{beside}.yaml"


@dataclass(frozen=True)
class CardExperiment:
    """A scenario of a criterion with its controls in their places, and its runs.

    ``path`` is where the scenario's text is written.
    """

    criterion: str
    pairing: Pairing
    path: Path
    text: str
    plan: Plan


def pairings(
    criterion: Criterion, candidate: Control, references: Sequence[Control]
) -> list[Pairing]:
    """Return what is run: the candidate first.

    The code of a module is asked of the candidate alone. Without references beside it, each control
    runs alone: the candidate, the references, and those that rows compare with. With them, the
    candidate runs beside each reference, and so does the reference itself, which says how much it
    harms its own kind.
    """
    if criterion.of_code:
        return [Pairing(candidate)]
    if not criterion.mixed:
        needed = [Control(name) for name in criterion.baselines]
        return [Pairing(control) for control in dict.fromkeys([candidate, *references, *needed])]
    beside = [Pairing(candidate, reference) for reference in references]
    own = [Pairing(reference, reference) for reference in references]
    return list(dict.fromkeys([*beside, *own]))


def prepare(
    name: str,
    criterion: Criterion,
    pairs: Sequence[Pairing],
    length: Length,
    folder: Path,
    kernel: str | None = None,
) -> list[CardExperiment]:
    """Load and plan the scenarios of a criterion; nothing is written.

    The files that they name are beside the criterion. The card has copies beside its scenarios.
    ``kernel`` is that of all runs, None for the machine's default.

    Raises:
        ScenarioError: a scenario is not valid with a control.
    """
    experiments = []
    for pair in pairs:
        path = folder / SCENARIOS / name / pair.file
        text = scenario_text(criterion, pair, kernel)
        loaded: LoadedScenario = load_text(text, FOLDER / path.name, reduced=length == "quick")
        experiments.append(CardExperiment(name, pair, path, text, plan(loaded)))
    return experiments


def scenario_text(criterion: Criterion, pair: Pairing, kernel: str | None = None) -> str:
    """Return the scenario as YAML, with the controls in their places, on a kernel."""
    values: dict[str, Any] = copy.deepcopy(criterion.scenario)
    if kernel is not None:
        values["kernel"] = kernel
    for flow in values["flows"]:
        if flow.get("congestion") == CANDIDATE:
            flow["congestion"] = pair.control.value
        elif flow.get("congestion") == REFERENCE and pair.beside is not None:
            flow["congestion"] = pair.beside.value
    return _yaml(values)


def _yaml(values: Mapping[str, Any]) -> str:
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    writer.dump(dict(values), out)
    return out.getvalue()
