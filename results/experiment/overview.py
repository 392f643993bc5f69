"""The runs of an experiment as a grid of variants and repetitions, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from results.experiment.experiments import Experiment
from results.matrix.axes import order
from results.records.model import RunRow, State, Variant

STATES: tuple[State, ...] = ("faithful", "doubtful", "unfaithful", "failed", "running")


def state(row: RunRow) -> State:
    """Return what became of a run."""
    if row.status == "running":
        return "running"
    return row.verdict or "failed"


@dataclass(frozen=True)
class Grid:
    """The newest run of each variant (a line) and repetition (a column), None where there is none.

    ``variants`` are values by path, in the order of the axes.
    """

    variants: list[Variant]
    repetitions: list[int]
    lines: list[list[RunRow | None]]


def grid(experiment: Experiment) -> Grid:
    """Return the experiment's runs as variants x repetitions."""
    runs = experiment.variants()
    variants = {variant_key: dict(rows[0].variant) for variant_key, rows in runs.items()}
    newest = {
        variant_key: {row.repetition: row for row in rows} for variant_key, rows in runs.items()
    }
    rank = order(experiment.axes())
    places = sorted(variants, key=lambda variant_key: rank(variants[variant_key]))
    repetitions = sorted({row.repetition for row in experiment.rows})
    return Grid(
        [variants[variant_key] for variant_key in places],
        repetitions,
        [
            [newest[variant_key].get(repetition) for repetition in repetitions]
            for variant_key in places
        ],
    )
