"""An experiment in the list of experiments: numbers of runs, and the state of each repetition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from results.axes import order
from results.experiments import Experiment
from results.model import RunRow

State = Literal["faithful", "doubtful", "unfaithful", "failed", "running"]
"""What became of a run; an interrupted one has failed."""

STATES: tuple[State, ...] = ("faithful", "doubtful", "unfaithful", "failed", "running")


def state(row: RunRow) -> State:
    """Return what became of a run."""
    if row.status == "running":
        return "running"
    return row.verdict or "failed"


def document(experiment: Experiment) -> dict[str, Any]:
    """Return an element of ``orchestrator experiments --json``."""
    rows = experiment.rows
    return {
        "name": experiment.name,
        "identity": experiment.identity,
        "axes": [
            {"path": axis.path, "label": axis.label, "values": list(axis.values)}
            for axis in experiment.axes()
        ],
        "variants": len(experiment.variants()),
        "runs": len(rows),
        "failed": sum(row.status in ("failed", "interrupted") for row in rows),
        "unfaithful": sum(row.verdict == "unfaithful" for row in rows),
        "link_model": experiment.newest.link_model,
        "backend": experiment.newest.backend,
        "newest_utc": experiment.newest.started_utc,
    }


@dataclass(frozen=True)
class Grid:
    """The newest run of each variant (a line) and repetition (a column), None where there is none.

    ``variants`` are values by path, in the order of the axes.
    """

    variants: list[dict[str, Any]]
    repetitions: list[int]
    lines: list[list[RunRow | None]]


def grid(experiment: Experiment) -> Grid:
    """Return the experiment's runs as variants x repetitions."""
    runs = experiment.variants()
    variants = {place: dict(rows[0].variant) for place, rows in runs.items()}
    newest = {place: {row.repetition: row for row in rows} for place, rows in runs.items()}
    rank = order(experiment.axes())
    places = sorted(variants, key=lambda place: rank(variants[place]))
    repetitions = sorted({row.repetition for row in experiment.rows})
    return Grid(
        [variants[place] for place in places],
        repetitions,
        [[newest[place].get(one) for one in repetitions] for place in places],
    )
