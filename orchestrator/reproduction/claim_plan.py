"""What testing statements would cost: the runs at first, those that are missing, and the most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.application import estimates
from orchestrator.planning import plan_document
from orchestrator.planning.costs.learning import least_certain
from orchestrator.reproduction import claim_runs
from results.claims import contract
from results.contract.base import SCHEMA

if TYPE_CHECKING:
    from orchestrator.planning.costs.learning import Estimate, Estimator


@dataclass(frozen=True)
class PlannedExperiment:
    """The runs of an experiment of a claim, and what they would cost.

    ``ablation`` is None for what the claim itself needs. ``least`` and ``most`` are repetitions of
    each variant: those made at first, and those that open rows may ask for. Of the first,
    ``missing`` counts the runs that are not stored. ``estimate`` is the least certain one of the
    variants, None if no variant is needed.
    """

    paper: str
    experiment: str
    ablation: str | None
    scenario: str
    variants: int
    least: int
    most: int
    minutes_least: float
    minutes_most: float
    missing: int
    minutes_missing: float
    estimate: Estimate | None


def document(experiments: Iterable[PlannedExperiment]) -> dict[str, Any]:
    """Return the JSON contract of a plan (``--plan``)."""
    return contract.ReproductionPlan.model_construct(
        schema_=SCHEMA, experiments=[_experiment(experiment) for experiment in experiments]
    ).document()


def _experiment(planned: PlannedExperiment) -> contract.PlannedExperiment:
    estimate = planned.estimate
    return contract.PlannedExperiment.model_construct(
        paper=planned.paper,
        experiment=planned.experiment,
        ablation=planned.ablation,
        scenario=planned.scenario,
        variants=planned.variants,
        least=planned.least,
        most=planned.most,
        minutes_least=planned.minutes_least,
        minutes_most=planned.minutes_most,
        missing=planned.missing,
        minutes_missing=planned.minutes_missing,
        estimated_from=None if estimate is None else plan_document.origin(estimate),
    )


def planned(
    experiments: claim_runs.ClaimExperiments,
    ablations: Iterable[tuple[str, claim_runs.ClaimExperiments]],
    db: Path,
) -> list[PlannedExperiment]:
    """Return each experiment with its runs.

    ``ablations`` has the name and the experiments of each. The store says which runs it has, and
    how long earlier ones took.
    """
    every: list[tuple[str | None, claim_runs.ClaimExperiment]] = [
        (None, own) for own in experiments.values()
    ]
    every += [(name, experiment) for name, ablated in ablations for experiment in ablated.values()]
    missing = claim_runs.missing([experiment for _name, experiment in every], db)
    estimator = estimates.estimator(db)
    return [
        _planned(experiment, name, lacking, estimator)
        for (name, experiment), lacking in zip(every, missing, strict=True)
    ]


def _planned(
    experiment: claim_runs.ClaimExperiment,
    ablation: str | None,
    missing: Mapping[int, int],
    estimator: Estimator,
) -> PlannedExperiment:
    """Return an experiment with its runs; ``missing`` has those of each variant."""
    design = experiment.design.at(experiment.length)
    once = experiment.estimates(experiment.needed, estimator)
    once_s = sum(estimate.wall_s for estimate in once.values())
    missing_s = sum(number * once[index].wall_s for index, number in missing.items())
    return PlannedExperiment(
        paper=experiment.paper,
        experiment=experiment.name,
        ablation=ablation,
        scenario=experiment.design.scenario,
        variants=len(experiment.needed),
        least=design.least,
        most=experiment.limit,
        minutes_least=round(once_s * design.least / 60, 1),
        minutes_most=round(once_s * experiment.limit / 60, 1),
        missing=sum(missing.values()),
        minutes_missing=round(missing_s / 60, 1),
        estimate=least_certain(once.values()) if once else None,
    )
