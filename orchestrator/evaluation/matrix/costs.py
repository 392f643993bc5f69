"""What a matrix of harm would cost: its runs, hours and disk space, before it is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.evaluation.costs import CriterionCosts, of_criteria
from orchestrator.evaluation.matrix.prepared import CRITERION
from orchestrator.planning import plan_document
from results.contract import evaluations as contract
from results.contract.base import SCHEMA

if TYPE_CHECKING:
    from orchestrator.evaluation.matrix.prepared import PreparedMatrix


def of_matrix(prepared: PreparedMatrix, db: Path) -> CriterionCosts:
    """Return the costs of all pairs together, by the earlier runs of a store.

    Raises:
        StoreError: the store exists and cannot be read.
    """
    (found,) = of_criteria({CRITERION: list(prepared.experiments.values())}, db)
    return found


def document(prepared: PreparedMatrix, costs: CriterionCosts) -> dict[str, Any]:
    """Return the JSON contract of ``evaluate --matrix --plan``."""
    return contract.PlannedMatrix.model_construct(
        schema_=SCHEMA,
        controls=[one.name for one in prepared.controls],
        length=prepared.request.length,
        pairs=len(prepared.experiments),
        runs=costs.runs,
        missing=costs.missing,
        hours=round(costs.wall_s / 3600, 2),
        hours_missing=round(costs.missing_wall_s / 3600, 2),
        disk_bytes=costs.disk_bytes,
        estimated_from=plan_document.origin(costs.estimate),
    ).document()
