"""Plans a scenario: its runs, its network, and estimates of wall time and disk space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.application import estimates
from orchestrator.application.scenarios import drawable
from orchestrator.backends.guest.features import lack_of_named
from orchestrator.errors import ScenarioError
from orchestrator.planning import plan_document
from orchestrator.planning.description import Plan, PlanDescription, PlanWarning
from orchestrator.planning.plan import plan as plan_loaded
from orchestrator.scenario import LoadedScenario, load
from results.drawing import draw
from results.wording import variant_names


@dataclass(frozen=True)
class PlanRequest:
    """A scenario file, ``overrides`` as of ``--set``, and whether its reduced form is meant."""

    file: Path
    overrides: Sequence[str] = ()
    reduced: bool = False


@dataclass(frozen=True)
class PlannedScenario:
    """The plan of a scenario, and its description with estimates of wall time and disk space."""

    plan: Plan
    description: PlanDescription

    def __repr__(self) -> str:
        """Return what was planned, short enough for a notebook."""
        return f"PlannedScenario(experiment={self.plan.experiment!r}, runs={len(self.plan.runs)})"

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``plan``."""
        return plan_document.document(self.description)

    @property
    def warnings(self) -> Sequence[PlanWarning]:
        """Values that are valid but probably mistakes."""
        return self.description.warnings

    def drawing(self) -> str:
        """Return the network as SVG; with a matrix, that of the first variant."""
        run = self.plan.runs[0]
        values = variant_names.one_line(run.variant)
        return draw(run.network, f"{run.scenario_name}: {values}" if values else run.scenario_name)


def require_kernels(loaded: LoadedScenario, planned: Plan) -> None:
    """Raise ScenarioError where a run wants what the series that it names lacks."""
    if (problem := lack_of_named(planned.runs)) is not None:
        text = problem.replace("\n  fix: ", "; fix: ")
        raise ScenarioError([loaded.mark(("kernel",)).fault(text)])


def plan(request: PlanRequest, db: Path) -> PlannedScenario:
    """Plan a scenario; ``db`` has the earlier runs by which the wall time is estimated.

    Raises:
        ScenarioError: the scenario is not valid, or a figure of it can never be drawn.
        UsageError: it has no reduced form.
        StoreError: the store exists and cannot be read.
    """
    loaded = load(request.file, request.overrides, request.reduced)
    planned = plan_loaded(loaded)
    drawable.require(loaded, planned)
    require_kernels(loaded, planned)
    return PlannedScenario(planned, planned.describe(estimates.estimator(db)))
