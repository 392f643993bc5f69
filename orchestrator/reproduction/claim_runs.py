"""Runs what a paper's statements need, and judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import backends
from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, MoreRunsNeeded
from orchestrator.errors import UsageError
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan, plan
from orchestrator.reproduction import filter_values
from orchestrator.scenario import load
from results.claims.judge import OPEN
from results.claims.judged_statements import JudgedRow, JudgedStatement, RowValues
from results.claims.stated.rows import rows, rows_of_any_length
from results.claims.values import ExperimentRuns, matching, series
from results.matrix.axes import axes
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.planning.costs.learning import Estimate, Estimator
    from orchestrator.scenario import LoadedScenario
    from results.claims.stated.model import Design, Length, Paper, Quantity, Statement
    from results.claims.stated.rows import ClaimRow
    from results.matrix.axes import Axis

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
        matches = matching(quantity.where, self.variants, self.axes)
        if len(matches) > 1:
            raise UsageError(
                f"{self.paper}, {self.name}: {dict(quantity.where)} fits {len(matches)} variants"
            )
        return matches[0] if matches else None

    def plan(self, numbers: Mapping[int, int]) -> Plan:
        """Return the plan of so many repetitions of each variant."""
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
        return sum(estimate.wall_s * numbers[index] for index, estimate in known.items())


ClaimExperiments = dict[tuple[str, str], ClaimExperiment]
"""Experiments by paper and name."""


@dataclass(frozen=True)
class DecisionCost:
    """How many more runs would decide a statement's open rows, and their estimated time.

    Both are None where no number of runs decides. ``of_full_length`` says that they are all of the
    full length, as the length that was asked for has no runs of the statement.
    """

    runs: int | None
    minutes: float | None
    of_full_length: bool = False


def by_claim(outcomes: Iterable[JudgedStatement]) -> dict[tuple[str, str], list[JudgedStatement]]:
    """Return statements by their (paper, claim), in their order."""
    grouped: dict[tuple[str, str], list[JudgedStatement]] = {}
    for outcome in outcomes:
        grouped.setdefault((outcome.paper, outcome.statement.claim), []).append(outcome)
    return grouped


def prepare(
    papers: Mapping[str, Paper],
    chosen: Iterable[tuple[str, Statement]],
    length: Length,
    folder: Path,
    most: int = 0,
) -> ClaimExperiments:
    """Load the experiments of some statements, and note the variants that they need.

    ``most`` allows so many repetitions where the length allows fewer.

    Raises:
        ScenarioError: a scenario is not valid with the values that the length sets.
        UsageError: a scenario is missing, or a value fits several variants.
    """
    experiments: ClaimExperiments = {}
    for name, statement in chosen:
        for quantity in (needed for row in rows(statement) for needed in row.quantities()):
            if quantity.experiment is None:
                continue
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


def rows_with_runs(
    paper: str, statement: Statement, experiments: ClaimExperiments
) -> list[ClaimRow]:
    """Return the rows of a statement, of any length, of which experiments have all variants."""
    return [
        row
        for row in rows_of_any_length(statement)
        if all(
            experiments[paper, str(quantity.experiment)].find(quantity) is not None
            for quantity in row.quantities()
        )
    ]


def make_runs(
    experiments: ClaimExperiments,
    execute: Execute,
    numbers: Mapping[tuple[str, str], Mapping[int, int]],
) -> None:
    """Make the repetitions of each variant, and add their ids to ``made`` of its experiment.

    ``numbers`` has the repetitions in all by (paper, experiment) and index of the variant. All are
    one plan, those with the longest runs first, so that all workers are busy until its end.
    """
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
    by_experiment = [
        dict.fromkeys(experiment.needed, experiment.design.at(experiment.length).least)
        for experiment in experiments
    ]
    if not db.exists():
        return by_experiment
    places = [
        (number, index)
        for number, counts in enumerate(by_experiment)
        for index in sorted(counts)
        for _repetition in range(counts[index])
    ]
    plans = [
        experiment.plan(counts)
        for experiment, counts in zip(experiments, by_experiment, strict=True)
        if counts
    ]
    if plans:
        with Store.open_read_only(db) as store:
            there = stored_plans.stored(Plan.joined(plans), store, backends.DEFAULT)
        for (number, index), stored in zip(places, there, strict=True):
            by_experiment[number][index] -= stored
    return by_experiment


def initial_repetitions(experiments: ClaimExperiments) -> dict[tuple[str, str], dict[int, int]]:
    """Return the numbers of repetitions that are made first, as :func:`make_runs` takes them."""
    return {
        key: {index: experiment.design.at(experiment.length).least for index in experiment.needed}
        for key, experiment in experiments.items()
    }


def judge(
    chosen: Sequence[tuple[str, Statement]], experiments: ClaimExperiments, db: Path
) -> list[JudgedStatement]:
    """Judge the statements by the stored runs."""
    outcomes = []
    with ExitStack() as stack:
        store = stack.enter_context(Store.open_read_only(db)) if db.exists() else None
        runs_of: dict[str, dict[str, ExperimentRuns]] = {}
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
            runs_of.setdefault(paper, {})[name] = ExperimentRuns(
                experiment.variants, experiment.axes, made
            )
        for paper, statement in chosen:
            judged = []
            there = runs_of.get(paper, {})
            for row in rows(statement, partial(_planned, there)):
                if filter_values.computed(row):
                    judged.append(JudgedRow.of(row, filter_values.values(row)))
                    continue
                values = series(row, there)
                if not values.present:
                    continue
                least = min(
                    experiment.design.at(experiment.length).least
                    for experiment in _of(row, paper, experiments)
                )
                made_of = RowValues(
                    values.values, least, values.left_out, values.used, values.places
                )
                judged.append(JudgedRow.of(row, made_of))
            absent = len(rows(statement)) - len(judged)
            outcomes.append(JudgedStatement(paper, statement, judged, absent))
    return outcomes


def _planned(runs_of: Mapping[str, ExperimentRuns], quantity: Quantity) -> bool:
    """Tell whether the length has a variant that a value is of."""
    return runs_of[str(quantity.experiment)].of(quantity) is not None


def further_repetitions(
    outcomes: Iterable[JudgedStatement],
    experiments: ClaimExperiments,
    limited: bool = True,
    up_to_limit: bool = False,
) -> dict[tuple[str, str], dict[int, int]]:
    """Return the repetitions in all that open rows need, of the variants that need more.

    ``limited`` asks for what the rule makes next, and else for what decides most probably. A row
    that needs more than the most that is allowed then gets none. With ``up_to_limit`` it gets as
    many as are allowed, which decide where its mean is far from all edges.
    """
    numbers: dict[tuple[str, str], dict[int, int]] = {}
    for outcome in outcomes:
        for judged in outcome.rows:
            finding = judged.finding
            number = finding.planned if limited else finding.needed
            if number is None or filter_values.computed(judged.row):
                continue
            lost = judged.values.left_out.unfaithful + judged.values.left_out.failed
            for quantity in judged.row.quantities():
                key = (outcome.paper, str(quantity.experiment))
                experiment = experiments[key]
                index = experiment.find(quantity)
                if index is None:
                    continue
                limit = _limit(judged.row, outcome.paper, experiments)
                if limited and number > limit and not up_to_limit:
                    continue
                needed = (min(number, limit) if limited else number) + lost
                if needed > len(experiment.made.get(index, ())):
                    by_variant = numbers.setdefault(key, {})
                    by_variant[index] = max(by_variant.get(index, 0), needed)
    return numbers


def _limit(row: ClaimRow, paper: str, experiments: ClaimExperiments) -> int:
    """Return the most repetitions that are allowed of all that a row needs."""
    return min(experiment.limit for experiment in _of(row, paper, experiments))


def _of(row: ClaimRow, paper: str, experiments: ClaimExperiments) -> list[ClaimExperiment]:
    """Return the experiments that a row has values of."""
    return [experiments[paper, str(quantity.experiment)] for quantity in row.quantities()]


def cost(
    outcome: JudgedStatement, experiments: ClaimExperiments, estimator: Estimator
) -> DecisionCost | None:
    """Return how many more runs the open rows of a statement need; None if there is none."""
    if not outcome.open:
        return None
    findings = [row.finding for row in outcome.rows if row.finding.verdict == OPEN]
    if any(finding.needed is None for finding in findings):
        return DecisionCost(None, None)
    further = further_repetitions([outcome], experiments, limited=False)
    runs, wall_s = 0, 0.0
    for key, numbers in further.items():
        experiment = experiments[key]
        rest = {
            index: number - len(experiment.made.get(index, ())) for index, number in numbers.items()
        }
        runs += sum(rest.values())
        wall_s += experiment.cost_s(rest, estimator)
    return DecisionCost(runs, round(wall_s / 60, 1))


def decide(
    chosen: Sequence[tuple[str, Statement]],
    experiments: ClaimExperiments,
    execute: Execute,
    db: Path,
    listener: Listener,
    looks: int = 1,
    up_to_limit: bool = False,
) -> list[JudgedStatement]:
    """Make the runs that are missing and judge the statements.

    Each variant is repeated ``least`` times. Where that leaves a row open, its variants are
    repeated as often as its deviation asks for (``results.statistics.two_looks``), and ``looks``
    times at most. A row that would need more repetitions than are allowed stays as it is, or is
    repeated ``up_to_limit``.
    """
    make_runs(experiments, execute, initial_repetitions(experiments))
    outcomes = judge(chosen, experiments, db)
    while looks > 0 and (
        further := further_repetitions(outcomes, experiments, up_to_limit=up_to_limit)
    ):
        number = sum(
            needed - len(experiments[key].made.get(index, ()))
            for key, numbers in further.items()
            for index, needed in numbers.items()
        )
        listener(MoreRunsNeeded(number))
        make_runs(experiments, execute, further)
        outcomes, looks = judge(chosen, experiments, db), looks - 1
    return outcomes


def full_length_costs(
    papers: Mapping[str, Paper],
    outcomes: Iterable[JudgedStatement],
    length: Length,
    estimator: Estimator,
    folder: Path,
) -> dict[tuple[str, str], DecisionCost]:
    """Return what the full length costs by (paper, id), of statements that this one leaves out."""
    if length == "full":
        return {}
    costs = {}
    for outcome in outcomes:
        if outcome.statement.cannot is None and not outcome.rows:
            experiments = prepare(papers, [(outcome.paper, outcome.statement)], "full", folder)
            numbers = initial_repetitions(experiments)
            wall_s = sum(
                counts.cost_s(numbers[key], estimator) for key, counts in experiments.items()
            )
            runs = sum(sum(counts.values()) for counts in numbers.values())
            costs[outcome.paper, outcome.statement.id] = DecisionCost(
                runs, round(wall_s / 60, 1), of_full_length=True
            )
    return costs
