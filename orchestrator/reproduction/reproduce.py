"""Tests what papers state: makes the runs that are missing, and judges the statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.application import estimates, making_runs
from orchestrator.application.events import Listener
from orchestrator.errors import RunError, UsageError
from orchestrator.reproduction import (
    ablations,
    claim_digests,
    claim_document,
    claim_files,
    claim_plan,
    claim_runs,
    filter_values,
)
from results.claims import claim_folders
from results.claims.judged_statements import JudgedClaim
from results.claims.stated.loading import load_all, select
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from orchestrator.planning.plan import Plan
    from results.claims.judged_statements import JudgedStatement
    from results.claims.stated.model import Length, Paper, Statement


@dataclass(frozen=True)
class ReproductionRequest:
    """Which statements are tested, and how.

    Attributes:
        targets: names of papers (``tibet``), claims (``tibet:T2``) or statements
            (``tibet:T2.1``); all papers where there is none.
        length: how long runs are, and how many there may be.
        most: repeat until the statements are decided, so often at most if the length allows fewer.
        causes: also run the ablations of the statements.
        claims: folder of the papers' claims; their scenarios are beside it.
    """

    targets: Sequence[str] = ()
    length: Length = "quick"
    most: int | None = None
    causes: bool = False
    claims: Path = field(default_factory=claim_folders.folder)


@dataclass(frozen=True)
class PreparedReproduction:
    """The statements that a request names, with the experiments that they need."""

    request: ReproductionRequest
    papers: Mapping[str, Paper]
    chosen: Sequence[tuple[str, Statement]]
    experiments: claim_runs.ClaimExperiments
    ablated: Sequence[ablations.AblationRuns]

    def plan(self, db: Path) -> list[claim_plan.PlannedExperiment]:
        """Return each experiment with its runs and their estimated time; see ``claim_plan``."""
        named = [
            (f"{ablation_runs.claim}, {ablation_runs.ablation.name}", ablation_runs.experiments)
            for ablation_runs in self.ablated
        ]
        return claim_plan.planned(self.experiments, named, db)


@dataclass(frozen=True)
class ReproductionResult:
    """What was found of statements.

    ``costs`` says by (paper, id) what deciding a statement would cost, where it is not decided.
    ``compared`` says how the runs compare with those of the committed summaries.
    """

    prepared: PreparedReproduction
    outcomes: Sequence[JudgedStatement]
    costs: Mapping[tuple[str, str], claim_runs.DecisionCost]
    compared: Sequence[claim_digests.ComparedRuns]
    status: int

    def __repr__(self) -> str:
        """Return the verdicts, short enough for a notebook."""
        return f"ReproductionResult(length={self.length!r}, verdicts={self.verdicts})"

    @property
    def length(self) -> Length:
        """How long the runs are."""
        return self.prepared.request.length

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each statement, by PAPER:STATEMENT."""
        return {
            f"{outcome.paper}:{outcome.statement.id}": outcome.verdict for outcome in self.outcomes
        }

    @property
    def document(self) -> dict[str, Any]:
        """The JSON contract of ``reproduce``; see ``claim_document``."""
        return claim_document.document(
            self.length, self.outcomes, self.claims(), self.costs, self.prepared.ablated,
            self.compared, self.options,
        )  # fmt: skip

    @property
    def options(self) -> str:
        """The options of the command that makes the same runs."""
        most = self.prepared.request.most
        return f"--{self.length}" if most is None else f"--{self.length} --most {most}"

    def claims(self) -> Iterator[JudgedClaim]:
        """Yield the claims, each with the verdict on it."""
        for (paper, claim), statements in claim_runs.by_claim(self.outcomes).items():
            says = self.prepared.papers[paper].claims[claim].says
            yield JudgedClaim(paper, claim, says, statements)

    def cost_of(self, outcome: JudgedStatement) -> claim_runs.DecisionCost | None:
        """Return what deciding a statement would cost; None if it is decided."""
        return self.costs.get((outcome.paper, outcome.statement.id))

    def write(self, folder: Path) -> Iterator[Path]:
        """Write a summary of each claim and ablation that has values; yield the files."""
        ablated, papers = self.prepared.ablated, self.prepared.papers
        yield from claim_files.write(
            self.outcomes, ablated, papers, self.prepared.request.length, folder
        )


def prepare(request: ReproductionRequest) -> PreparedReproduction:
    """Find the statements and load the experiments that they need.

    Raises:
        ScenarioError: a scenario is not valid with the values that the length sets.
        UsageError: there are no claims, or there is no such statement.
    """
    papers = load_all(request.claims)
    if not papers:
        raise UsageError(f"--claims {request.claims}: there are no claims (files NAME.yaml)")
    chosen: list[tuple[str, Statement]] = []
    for target in request.targets or list(papers):
        chosen += [pair for pair in select(papers, target) if pair not in chosen]
    folder = request.claims.parent
    experiments = claim_runs.prepare(papers, chosen, request.length, folder, request.most or 0)
    ablated = ablations.prepare(papers, chosen, request.length, folder) if request.causes else []
    return PreparedReproduction(request, papers, chosen, experiments, ablated)


def reproduce(
    prepared: PreparedReproduction, settings: RunSettings, listener: Listener
) -> ReproductionResult:
    """Make the runs that are missing, and judge the statements; the status is 1 if a run failed.

    Raises:
        MachineError: a statement is computed by a C program, and there is no compiler.
    """
    request, db = prepared.request, settings.db
    filter_values.require(statement for _paper, statement in prepared.chosen)
    folder, length = request.claims.parent, request.length
    summaries = claim_digests.read(request.claims)

    def execute(plan: Plan) -> list[str]:
        return making_runs.make_runs(plan, True, settings, listener)

    outcomes = claim_runs.decide(
        prepared.chosen,
        prepared.experiments,
        execute,
        db,
        listener,
        # Where the length makes fewer repetitions than the first look needs, that look comes first.
        looks=2,
        up_to_limit=request.most is not None,
    )
    for ablation_runs in prepared.ablated:
        ablation_runs.decide(execute, db, listener)
    estimator = estimates.estimator(db)
    papers, ablated = prepared.papers, prepared.ablated
    costs = claim_runs.full_length_costs(papers, outcomes, length, estimator, folder)
    for outcome in outcomes:
        cost = claim_runs.cost(outcome, prepared.experiments, estimator) if outcome.rows else None
        if cost is not None:
            costs[outcome.paper, outcome.statement.id] = cost
    compared = claim_digests.compared(outcomes, ablated, papers, summaries, length)
    every = [prepared.experiments, *(ablation_runs.experiments for ablation_runs in ablated)]
    status = RunError.exit_status if _failed(every, db) else 0
    return ReproductionResult(prepared, outcomes, costs, compared, status)


def _failed(every: Sequence[claim_runs.ClaimExperiments], db: Path) -> bool:
    """Tell whether the newest run of a repetition failed."""
    ids = {
        run_id
        for experiments in every
        for experiment in experiments.values()
        for made in experiment.made.values()
        for run_id in made
    }
    if not ids:
        return False
    with Store.open_read_only(db) as store:
        # Asked for one by one, because a store may have many thousands of other runs.
        return any(store.load(run_id).status != "ok" for run_id in ids)
