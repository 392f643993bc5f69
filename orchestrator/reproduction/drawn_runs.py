"""Runs of the committed summaries, drawn by chance, to be made again.

A summary stays valid while the present kernel, modules and code give its runs the same digests.
Making all of them again takes hours. A few that are drawn anew each time find a change that
touches many.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan, plan
from orchestrator.reproduction import claim_digests
from orchestrator.scenario import load
from results.matrix.axes import key

if TYPE_CHECKING:
    from orchestrator.scenario import LoadedScenario
    from results.claims.record import Record, RecordedRun

Origin = tuple[str, tuple[str, ...], bool]
"""Scenario, overrides, and whether the reduced form is meant."""


@dataclass(frozen=True)
class DrawnRun:
    """A run of a committed summary, and the plan that makes it again.

    ``target`` is what ``reproduce`` makes it of, such as ``tibet:T2``.
    """

    target: str
    recorded: RecordedRun
    plan: Plan


@dataclass(frozen=True)
class DrawnRuns:
    """The runs that were drawn of a paper.

    ``too_long`` counts those that take too long, and ``ambiguous`` those that two experiments of a
    summary have: it does not say which of them a run is of.
    """

    runs: Sequence[DrawnRun]
    too_long: int
    ambiguous: int

    @property
    def plan(self) -> Plan:
        """The runs as one plan, in their order."""
        return Plan.joined(drawn.plan for drawn in self.runs)


def draw(paper: str, number: int, seed: str, longest_s: float, claims: Path) -> DrawnRuns:
    """Draw runs of a paper, each of another variant or repetition.

    Args:
        paper: its name.
        number: how many, or all if there are fewer.
        seed: gives the same runs while the summaries stay as they are.
        longest_s: runs whose estimated wall time is longer are left out.
        claims: folder of the papers' claims.

    Raises:
        UsageError: a summary cannot be read, or has a run that its scenario does not have.
        ScenarioError: a scenario is not valid with the values that a summary says.
    """
    records = [record for record in claim_digests.read(claims) if record.paper == paper]
    pairs = [(record, run) for record in records for run in record.runs]
    random.Random(f"{seed} {paper}").shuffle(pairs)
    loaded_of = _loader(claims.parent)
    drawn: list[DrawnRun] = []
    too_long = ambiguous = 0
    for record, recorded in _different(pairs):
        if len(drawn) == number:
            break
        planned, *others = _planned(record, recorded, loaded_of)
        if others:
            ambiguous += 1
            continue
        if wall_s(planned.runs[0]) > longest_s:
            too_long += 1
            continue
        drawn.append(DrawnRun(f"{paper}:{record.target}", recorded, planned))
    return DrawnRuns(drawn, too_long, ambiguous)


def _different(
    pairs: Sequence[tuple[Record, RecordedRun]],
) -> Iterator[tuple[Record, RecordedRun]]:
    """Yield each run once, though several summaries have it: equal runs have equal digests."""
    digests = set()
    for record, recorded in pairs:
        if recorded.digest not in digests:
            digests.add(recorded.digest)
            yield record, recorded


def _loader(folder: Path) -> Callable[[Origin], LoadedScenario]:
    """Return what loads each scenario once, as several runs are of one."""
    known: dict[Origin, LoadedScenario] = {}

    def loaded(origin: Origin) -> LoadedScenario:
        if origin not in known:
            scenario, overrides, reduced = origin
            known[origin] = load(folder / scenario, overrides, reduced)
        return known[origin]

    return loaded


def _planned(
    record: Record, recorded: RecordedRun, loaded_of: Callable[[Origin], LoadedScenario]
) -> list[Plan]:
    """Return the plans of a recorded run alone: one of each experiment that has it.

    A summary may set one scenario in several ways. If it does not name the run's experiment, the
    variant and the seed tell which is meant.
    """
    plans = []
    for name, (scenario, overrides) in record.experiments.items():
        if recorded.design not in (None, name):
            continue
        loaded = loaded_of((scenario, tuple(overrides), record.length == "reduced"))
        if loaded.scenario.name != recorded.experiment:
            continue
        counts = [
            range(recorded.repetition, recorded.repetition + 1)
            if key(dict(variant.values)) == key(dict(recorded.variant))
            else range(0)
            for variant in loaded.variants
        ]
        planned = plan(loaded, repetitions=counts)
        if [run.seed for run in planned.runs] == [recorded.seed]:
            plans.append(planned)
    if plans:
        return plans
    raise UsageError(
        f"{record.paper}:{record.target}: its summary has a run of {recorded.experiment} that no "
        f"scenario has: {dict(recorded.variant)}, repetition {recorded.repetition}, "
        f"seed {recorded.seed}"
    )
