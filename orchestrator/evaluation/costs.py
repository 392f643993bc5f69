"""What the runs of a card would cost: how many are missing, their wall time and disk space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import backends
from orchestrator.application import estimates, stored_plans
from orchestrator.planning import plan_document
from orchestrator.planning.costs.learning import Estimate, least_certain
from orchestrator.planning.plan import Plan
from results.contract import evaluations as contract
from results.contract.base import SCHEMA
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.evaluation.experiments import CardExperiment
    from orchestrator.evaluation.prepared import PreparedEvaluation


@dataclass(frozen=True)
class CriterionCosts:
    """The runs of a criterion; times are those of runs one at a time.

    ``missing`` counts the runs that are not stored, and ``disk_bytes`` is of these.
    """

    name: str
    runs: int
    missing: int
    wall_s: float
    missing_wall_s: float
    disk_bytes: int
    estimate: Estimate


def of_criteria(
    experiments: Mapping[str, Sequence[CardExperiment]], db: Path
) -> list[CriterionCosts]:
    """Return the costs of each criterion that has runs, by the earlier runs of a store.

    Raises:
        StoreError: the store exists and cannot be read.
    """
    plans = {
        name: Plan.joined(one.plan for one in found) for name, found in experiments.items() if found
    }
    if not plans:
        return []
    every = Plan.joined(plans.values())
    there = [False] * len(every.runs)
    if db.exists():
        with Store.open_read_only(db) as store:
            there = stored_plans.stored(every, store, backends.DEFAULT)
    estimator = estimates.estimator(db)
    costs = []
    stored = iter(there)
    for name, joined in plans.items():
        known = [(run, estimator(run), next(stored)) for run in joined.runs]
        rest = [(run, estimate) for run, estimate, is_stored in known if not is_stored]
        costs.append(
            CriterionCosts(
                name,
                len(known),
                len(rest),
                sum(estimate.wall_s for _run, estimate, _stored in known),
                sum(estimate.wall_s for _run, estimate in rest),
                sum(run.estimated_disk_bytes for run, _estimate in rest),
                least_certain(estimate for _run, estimate, _stored in known),
            )
        )
    return costs


def document(prepared: PreparedEvaluation, costs: Sequence[CriterionCosts]) -> dict[str, Any]:
    """Return the JSON contract of ``evaluate --plan``."""
    return contract.EvaluationPlan.model_construct(
        schema_=SCHEMA,
        candidate=prepared.candidate.name,
        length=prepared.request.length,
        criteria=[
            contract.PlannedCriterion.model_construct(
                name=one.name,
                runs=one.runs,
                missing=one.missing,
                minutes=round(one.wall_s / 60, 1),
                minutes_missing=round(one.missing_wall_s / 60, 1),
                disk_bytes=one.disk_bytes,
                estimated_from=plan_document.origin(one.estimate),
            )
            for one in costs
        ],
        not_applicable=[
            contract.LackingCriterion.model_construct(name=name, lack=lack)
            for name, lack in prepared.lacks.items()
        ],
    ).document()
