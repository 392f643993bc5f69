"""The JSON documents of experiments by the models of the contract: their list, and one's grid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from results.contract import experiments as contract
from results.contract.base import SCHEMA
from results.experiment import overview
from results.experiment.experiments import Experiment
from results.matrix import axis_document


def list_document(experiments: Iterable[Experiment]) -> dict[str, Any]:
    """Return the document of ``orchestrator experiments --json``."""
    return contract.Experiments.model_construct(
        schema_=SCHEMA,
        experiments=[
            contract.Experiment.model_construct(None, **fields(experiment))
            for experiment in experiments
        ],
    ).document()


def fields(experiment: Experiment) -> dict[str, Any]:
    """Return the values of ``contract.Experiment`` that every document of an experiment has."""
    rows = experiment.rows
    return {
        "name": experiment.name,
        "identity": experiment.identity,
        "axes": [axis_document.listed_axis(axis) for axis in experiment.axes()],
        "variants": len(experiment.variants()),
        "runs": len(rows),
        "failed": sum(row.failed for row in experiment.standing()),
        "unfaithful": sum(row.verdict == "unfaithful" for row in rows),
        "link_model": experiment.newest.link_model,
        "backend": experiment.newest.backend,
        "newest_utc": experiment.newest.started_utc,
    }


def grid(experiment: Experiment) -> contract.Grid:
    """Return the newest run of each variant (a line) and repetition (a column)."""
    runs = overview.grid(experiment)
    return contract.Grid.model_construct(
        variants=[dict(variant) for variant in runs.variants],
        repetitions=runs.repetitions,
        lines=[
            [
                None
                if row is None
                else contract.Cell.model_construct(id=row.id, state=overview.state(row))
                for row in line
            ]
            for line in runs.lines
        ],
    )
