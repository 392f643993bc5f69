"""Runs the ablations of papers' statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application.events import AblationBegun, Listener
from orchestrator.errors import UsageError
from orchestrator.reproduction import claim_runs
from results.claims.stated.ablation import changed

if TYPE_CHECKING:
    from results.claims.judged_statements import JudgedStatement
    from results.claims.stated.model import Ablation, Length, Paper, Statement


@dataclass
class AblationRuns:
    """An ablation with its experiments; ``paper`` has only the statements that it tests."""

    name: str
    claim: str
    ablation: Ablation
    paper: Paper
    chosen: Sequence[tuple[str, Statement]]
    experiments: claim_runs.ClaimExperiments
    outcomes: list[JudgedStatement] = field(default_factory=list)

    def decide(self, execute: claim_runs.Execute, db: Path, listener: Listener) -> None:
        """Make the runs that are missing, and judge the statements by them."""
        listener(AblationBegun(self.name, self.claim, self.ablation.name))
        self.outcomes = claim_runs.decide(self.chosen, self.experiments, execute, db, listener)


def prepare(
    papers: Mapping[str, Paper],
    chosen: Iterable[tuple[str, Statement]],
    length: Length,
    folder: Path,
) -> list[AblationRuns]:
    """Load the experiments of all ablations of some statements.

    Raises:
        ScenarioError: a scenario is not valid with what an ablation sets.
        UsageError: a scenario is missing, or a value fits several variants.
    """
    runs = []
    for (name, claim), ids in _ids(chosen).items():
        for ablation in papers[name].claims[claim].ablations:
            paper = changed(papers[name], claim, ablation)
            tested = [(name, statement) for statement in paper.statements() if statement.id in ids]
            if tested:
                experiments = claim_runs.prepare({name: paper}, tested, length, folder)
                runs.append(AblationRuns(name, claim, ablation, paper, tested, experiments))
    return runs


def statements(papers: Mapping[str, Paper]) -> list[str]:
    """Return the statements that have an ablation, each as ``PAPER:ID``, without repeats."""
    return list(
        dict.fromkeys(
            f"{name}:{statement}"
            for name, paper in papers.items()
            for claim in paper.claims.values()
            for ablation in claim.ablations
            for statement in ablation.of
        )
    )


def require_all(papers: Mapping[str, Paper], chosen: Iterable[tuple[str, Statement]]) -> None:
    """Check that all statements of each ablation were chosen, as its summary is of all of them.

    Raises:
        UsageError: some statements of an ablation were chosen and others were not.
    """
    for (name, claim), ids in _ids(chosen).items():
        for ablation in papers[name].claims[claim].ablations:
            missing = [id_ for id_ in ablation.of if id_ not in ids]
            if missing and len(missing) < len(ablation.of):
                raise UsageError(
                    f"--write with --causes: the summary of the ablation {ablation.name} of "
                    f"{name}:{claim} is of all its statements: "
                    f"give {', '.join(f'{name}:{id_}' for id_ in missing)} too"
                )


def _ids(chosen: Iterable[tuple[str, Statement]]) -> dict[tuple[str, str], set[str]]:
    """Return the ids of the chosen statements by (paper, claim)."""
    by_claim: dict[tuple[str, str], set[str]] = {}
    for name, statement in chosen:
        by_claim.setdefault((name, statement.claim), set()).add(statement.id)
    return by_claim
