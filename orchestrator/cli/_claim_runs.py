"""Runs what a paper's statements need, and judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.planning.learning import Estimate, Estimator
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario import LoadedScenario
    from results.axes import Axis
    from results.claims.judge import Finding, Verdict
    from results.claims.model import Design, Length, Paper, Quantity, Statement
    from results.claims.rows import Row
    from results.claims.values import Runs, Series

PAPERS = Path(__file__).resolve().parents[2] / "scenarios" / "papers"
CLAIMS = PAPERS / "claims"

Execute = Callable[["Plan"], list[str]]
"""Runs a plan, or finds its runs in the store; returns their ids in the order of the plan."""


@dataclass
class ClaimExperiment:
    """An experiment of a paper at one length, with the variants that the statements need.

    ``made`` has the ids of the runs of each variant, by repetition. ``limit`` is the most of them.
    """

    paper: str
    name: str
    design: Design
    length: Length
    loaded: LoadedScenario
    axes: Sequence[Axis]
    limit: int
    needed: set[int] = field(default_factory=set)
    made: dict[int, list[str]] = field(default_factory=dict)

    @property
    def variants(self) -> list[Mapping[str, Any]]:
        """The values of the axes of each variant."""
        return [variant.values for variant in self.loaded.variants]

    def find(self, quantity: Quantity) -> int | None:
        """Return the index of the variant that a value is of; None where there is none.

        Raises:
            UsageError: several variants fit.
        """
        from results.claims.values import matching

        found = matching(quantity.where, self.variants, self.axes)
        if len(found) > 1:
            raise UsageError(
                f"{self.paper}, {self.name}: {dict(quantity.where)} fits {len(found)} variants"
            )
        return found[0] if found else None

    def plan(self, numbers: Mapping[int, int]) -> Plan:
        """Return the plan of so many repetitions of each variant."""
        from orchestrator.planning.plan import plan

        counts = [range(numbers.get(index, 0)) for index in range(len(self.loaded.variants))]
        return plan(self.loaded, repetitions=counts)

    def estimates(self, indices: Iterable[int], estimator: Estimator) -> dict[int, Estimate]:
        """Return the estimated wall time of one run of each of these variants, by their index."""
        order = sorted(indices)
        once = self.plan(dict.fromkeys(order, 1))
        return {index: estimator(run) for index, run in zip(order, once.runs, strict=True)}

    def cost_s(self, numbers: Mapping[int, int], estimator: Estimator) -> float:
        """Return the estimated wall time of so many repetitions of each variant."""
        known = self.estimates((index for index, n in numbers.items() if n > 0), estimator)
        return sum(each.wall_s * numbers[index] for index, each in known.items())


ClaimExperiments = dict[tuple[str, str], ClaimExperiment]
"""Experiments by paper and name."""


@dataclass(frozen=True)
class Judged:
    """A row with its values and verdict; ``least`` is the number of repetitions made at first."""

    row: Row
    series: Series
    finding: Finding
    least: int


@dataclass(frozen=True)
class Outcome:
    """A statement with the verdicts on its rows; ``absent`` counts those without runs."""

    paper: str
    statement: Statement
    rows: Sequence[Judged]
    verdict: Verdict
    absent: int = 0


def by_claim(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """Return outcomes by their (paper, claim), in their order."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for each in outcomes:
        found.setdefault((each.paper, each.statement.claim), []).append(each)
    return found


def prepare(
    papers: Mapping[str, Paper],
    chosen: Iterable[tuple[str, Statement]],
    length: Length,
    folder: Path = PAPERS,
    most: int = 0,
) -> ClaimExperiments:
    """Load the experiments of some statements, and note the variants that they need.

    ``most`` allows so many repetitions where the length allows fewer.

    Raises:
        ScenarioError: a scenario is not valid with the values that the length sets.
        UsageError: a scenario is missing, or a value fits several variants.
    """
    from orchestrator.scenario import load
    from results.axes import axes
    from results.claims.rows import rows

    experiments: ClaimExperiments = {}
    for name, statement in chosen:
        for quantity in (each for row in rows(statement) for each in row.quantities()):
            key = (name, str(quantity.experiment))
            if key not in experiments:
                design = papers[name].experiments[key[1]]
                file = folder / design.scenario
                loaded = load(file, design.overrides(length), length == "reduced")
                there = axes([variant.values for variant in loaded.variants])
                limit = max(most, design.at(length).limit)
                experiments[key] = ClaimExperiment(*key, design, length, loaded, there, limit)
            experiment = experiments[key]
            index = experiment.find(quantity)
            if index is not None:
                experiment.needed.add(index)
    return experiments


def make_runs(
    experiments: ClaimExperiments,
    execute: Execute,
    numbers: Mapping[tuple[str, str], Mapping[int, int]],
) -> None:
    """Make the repetitions of each variant, and add their ids to ``made`` of its experiment.

    ``numbers`` has the repetitions in all by (paper, experiment) and index of the variant. All are
    one plan, those with the longest runs first, so that all workers are busy until its end.
    """
    from orchestrator.planning.estimate import wall_s
    from orchestrator.planning.plan import Plan

    plans = {
        key: experiment.plan(numbers[key])
        for key, experiment in experiments.items()
        if any(numbers.get(key, {}).values())
    }
    order = sorted(plans, key=lambda key: -max(map(wall_s, plans[key].runs)))
    ids = iter(execute(Plan.joined(plans[key] for key in order)) if plans else [])
    for key in order:
        for index in sorted(numbers[key]):
            experiments[key].made[index] = [next(ids) for _number in range(numbers[key][index])]


def missing(experiments: Sequence[ClaimExperiment], db: Path) -> list[dict[int, int]]:
    """Return for each experiment how many runs made at first are not stored, by variant.

    All are looked up together, as the store is read once for that.
    """
    from orchestrator import backends
    from orchestrator.cli import _stored_runs
    from orchestrator.planning.plan import Plan
    from results.store import Store

    found = [dict.fromkeys(each.needed, each.design.at(each.length).least) for each in experiments]
    if not db.exists():
        return found
    places = [
        (number, index)
        for number, counts in enumerate(found)
        for index in sorted(counts)
        for _repetition in range(counts[index])
    ]
    plans = [each.plan(counts) for each, counts in zip(experiments, found, strict=True) if counts]
    if plans:
        with Store.open_read_only(db) as store:
            there = _stored_runs.stored(Plan.joined(plans), store, backends.DEFAULT)
        for (number, index), stored in zip(places, there, strict=True):
            found[number][index] -= stored
    return found


def initial_repetitions(experiments: ClaimExperiments) -> dict[tuple[str, str], dict[int, int]]:
    """Return the numbers of repetitions that are made first, as :func:`make_runs` takes them."""
    return {
        key: {index: experiment.design.at(experiment.length).least for index in experiment.needed}
        for key, experiment in experiments.items()
    }


def judge(
    chosen: Sequence[tuple[str, Statement]], experiments: ClaimExperiments, db: Path
) -> list[Outcome]:
    """Judge the statements by the stored runs."""
    from results.claims import judge as judging
    from results.claims.rows import rows
    from results.claims.values import Runs, series
    from results.store import Store

    found = []
    with ExitStack() as stack:
        store = stack.enter_context(Store.open_read_only(db)) if db.exists() else None
        runs_of: dict[str, dict[str, Runs]] = {}
        for (paper, name), experiment in experiments.items():
            made = [
                {
                    number: store.load(run_id)
                    for number, run_id in enumerate(experiment.made.get(index, ()))
                }
                if store is not None
                else {}
                for index in range(len(experiment.variants))
            ]
            runs_of.setdefault(paper, {})[name] = Runs(experiment.variants, experiment.axes, made)
        for paper, statement in chosen:
            judged = []
            there = runs_of.get(paper, {})
            for row in rows(statement, partial(_planned, there)):
                values = series(row, there)
                if not values.present:
                    continue
                least = min(
                    experiment.design.at(experiment.length).least
                    for experiment in _of(row, paper, experiments)
                )
                judged.append(
                    Judged(
                        row,
                        values,
                        judging.judge(values.values, row.accepted, least, values.identical),
                        least,
                    )
                )
            if statement.cannot is not None:
                verdict = judging.CANNOT
            elif not judged:
                verdict = judging.UNDECIDED
            else:
                verdict = judging.combined_verdict(each.finding.verdict for each in judged)
            absent = len(rows(statement)) - len(judged)
            found.append(Outcome(paper, statement, judged, verdict, absent))
    return found


def _planned(runs_of: Mapping[str, Runs], quantity: Quantity) -> bool:
    """Tell whether the length has a variant that a value is of."""
    return runs_of[quantity.experiment or ""].of(quantity) is not None


def further_repetitions(
    outcomes: Iterable[Outcome], experiments: ClaimExperiments, limited: bool = True
) -> dict[tuple[str, str], dict[int, int]]:
    """Return the repetitions in all that undecided rows need, of the variants that need more.

    ``limited`` leaves out rows that need more than the most that is allowed: their runs would
    decide nothing.
    """
    numbers: dict[tuple[str, str], dict[int, int]] = {}
    for outcome in outcomes:
        for judged in outcome.rows:
            if judged.finding.needed is None:
                continue
            lost = judged.series.unfaithful + judged.series.failed
            for quantity in judged.row.quantities():
                key = (outcome.paper, str(quantity.experiment))
                experiment = experiments[key]
                index = experiment.find(quantity)
                if index is None:
                    continue
                wanted = judged.finding.needed + lost
                if limited and wanted > _limit(judged.row, outcome.paper, experiments) + lost:
                    continue
                if wanted > len(experiment.made.get(index, ())):
                    place = numbers.setdefault(key, {})
                    place[index] = max(place.get(index, 0), wanted)
    return numbers


def _limit(row: Row, paper: str, experiments: ClaimExperiments) -> int:
    """Return the most repetitions that are allowed of all that a row needs."""
    return min(experiment.limit for experiment in _of(row, paper, experiments))


def _of(row: Row, paper: str, experiments: ClaimExperiments) -> list[ClaimExperiment]:
    """Return the experiments that a row has values of."""
    return [experiments[paper, str(each.experiment)] for each in row.quantities()]


def cost(
    outcome: Outcome, experiments: ClaimExperiments, estimator: Estimator
) -> dict[str, Any] | None:
    """Return how many more runs an undecided statement needs, and their estimated minutes.

    None for a decided one. ``runs`` is None where no number of runs decides.
    """
    if outcome.verdict != "undecided":
        return None
    undecided = [each for each in outcome.rows if each.finding.verdict == "undecided"]
    if any(each.finding.needed is None for each in undecided):
        return {"runs": None, "minutes": None}
    asked = further_repetitions([outcome], experiments, limited=False)
    runs, wall_s = 0, 0.0
    for key, numbers in asked.items():
        experiment = experiments[key]
        rest = {
            index: number - len(experiment.made.get(index, ())) for index, number in numbers.items()
        }
        runs += sum(rest.values())
        wall_s += experiment.cost_s(rest, estimator)
    return {"runs": runs, "minutes": round(wall_s / 60, 1)}


def decide(
    chosen: Sequence[tuple[str, Statement]],
    experiments: ClaimExperiments,
    execute: Execute,
    db: Path,
    quiet: bool,
    looks: float = 1,
) -> list[Outcome]:
    """Make the runs that are missing and judge the statements.

    Each variant is repeated ``least`` times. Where that leaves a row undecided, its variants are
    repeated as often as its deviation asks for (Stein's two stages), and ``looks`` times at most.
    A row that would need more repetitions than are allowed stays as it is: fewer decide nothing.
    """
    make_runs(experiments, execute, initial_repetitions(experiments))
    outcomes = judge(chosen, experiments, db)
    while looks > 0 and (asked := further_repetitions(outcomes, experiments)):
        number = sum(
            wanted - len(experiments[key].made.get(index, ()))
            for key, numbers in asked.items()
            for index, wanted in numbers.items()
        )
        if not quiet:
            click.echo(f"undecided statements ask for {number} more repetitions", err=True)
        make_runs(experiments, execute, asked)
        outcomes, looks = judge(chosen, experiments, db), looks - 1
    return outcomes


def full_length_costs(
    papers: Mapping[str, Paper],
    outcomes: Iterable[Outcome],
    length: Length,
    estimator: Estimator,
    folder: Path = PAPERS,
) -> dict[str, dict[str, Any]]:
    """Return what the full length costs, by id, for statements that this length leaves out."""
    if length == "full":
        return {}
    found = {}
    for outcome in outcomes:
        if outcome.statement.cannot is None and not outcome.rows:
            experiments = prepare(papers, [(outcome.paper, outcome.statement)], "full", folder)
            numbers = initial_repetitions(experiments)
            found[outcome.statement.id] = {
                "runs": sum(sum(each.values()) for each in numbers.values()),
                "minutes": round(
                    sum(each.cost_s(numbers[key], estimator) for key, each in experiments.items())
                    / 60,
                    1,
                ),
                "length": "full",
            }
    return found
