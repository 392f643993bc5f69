#!/usr/bin/env python3
"""Write docs/reproduction.md and docs/claims: all claims of the papers with their verdicts.

usage: reproduction.py [--check]

They are made of scenarios/papers/claims/*.yaml, the texts in its folder notes, and the summaries
in its folder measured, which ``orchestrator reproduce --write`` writes. With --check nothing is
written. Status 1 then says that a page or a figure is not what they make.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.claims.claim_summaries import ClaimSummaries
    from results.claims.page.document import MeasurementCost
    from results.claims.stated.model import Length, Paper, Statement

    StatementCosts = dict[tuple[str, str], MeasurementCost]

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ROOT / "scenarios/papers/claims"
DOCS = ROOT / "docs"


def made() -> dict[Path, bytes]:
    """Return the pages and their figures, which claims and summaries make, by their files."""
    from orchestrator.reproduction.open_costs import open_statements
    from results.claims.claim_summaries import read_all, read_causes
    from results.claims.page.agreement import AGREEMENT
    from results.claims.page.agreement import figure as agreement
    from results.claims.page.document import PageEvidence, judged_claims
    from results.claims.page.figures import figures
    from results.claims.page.open_rows import OPEN_ROWS, open_rows
    from results.claims.page.overview import PAPERS, pages
    from results.claims.stated.loading import load_all

    papers, folder = load_all(CLAIMS), CLAIMS / "measured"
    measured, causes = read_all(folder), read_causes(folder)
    notes = {path.stem: path.read_text("utf-8") for path in (CLAIMS / "notes").glob("*.md")}
    evidence = PageEvidence(
        measured, causes, costs(papers, measured), *statement_costs(papers, measured), notes
    )
    papers_pages = DOCS / PAPERS
    texts = {DOCS / name: text.encode() for name, text in pages(papers, evidence).items()}
    texts[papers_pages / OPEN_ROWS] = open_rows(
        open_statements(papers, measured, CLAIMS.parent)
    ).encode()
    drawn = figures(papers, measured, causes)
    drawn[AGREEMENT] = agreement(
        judged_claims(papers, measured), lambda paper, claim: f"{paper}.md#{claim.lower()}"
    )
    return {**texts, **{papers_pages / name: data for name, data in drawn.items()}}


def differing(contents: Mapping[Path, bytes]) -> list[Path]:
    """Return the files that are missing or differ from these, and others in their folders."""
    folders = {path.parent for path in contents} - {DOCS}
    there = {path for folder in folders for path in folder.glob("*")}
    return sorted(
        path
        for path in {*contents, *there}
        if path not in contents or not path.exists() or path.read_bytes() != contents[path]
    )


def costs(
    papers: Mapping[str, Paper], measured: Collection[tuple[str, str]]
) -> dict[tuple[str, str], MeasurementCost]:
    """Return what the first repetitions of each claim without a summary take, by (paper, claim)."""
    by_claim = {}
    for name, paper in papers.items():
        for claim in paper.claims:
            if (name, claim) not in measured:
                cost = first_repetitions(papers, name, paper.claims[claim].statements, "quick")
                if cost.runs:
                    by_claim[name, claim] = cost
    return by_claim


def statement_costs(
    papers: Mapping[str, Paper], measured: Mapping[tuple[str, str], ClaimSummaries]
) -> tuple[StatementCosts, StatementCosts]:
    """Return what statements take whose claim was measured without them: quick, and full alone.

    The second has those of which the quick length has no place.
    """
    quick: StatementCosts = {}
    full: StatementCosts = {}
    for (name, claim), made in measured.items():
        for statement in papers[name].claims[claim].statements:
            if statement.cannot is not None or made.rows(statement):
                continue
            length: Length = "quick" if has_runs(papers, name, statement, "quick") else "full"
            cost = first_repetitions(papers, name, [statement], length)
            (quick if length == "quick" else full)[name, statement.id] = cost
    return quick, full


def has_runs(papers: Mapping[str, Paper], name: str, statement: Statement, length: Length) -> bool:
    """Tell whether a length has all variants of any row of a statement."""
    from orchestrator.reproduction import claim_runs

    experiments = claim_runs.prepare(papers, [(name, statement)], length, CLAIMS.parent)
    return bool(claim_runs.rows_with_runs(name, statement, experiments))


def first_repetitions(
    papers: Mapping[str, Paper], name: str, statements: Sequence[Statement], length: Length
) -> MeasurementCost:
    """Return what the first repetitions of some statements of a paper take."""
    from orchestrator.reproduction import claim_runs
    from results.claims.page.document import MeasurementCost

    studies = claim_runs.prepare(
        papers, [(name, statement) for statement in statements], length, CLAIMS.parent
    )
    numbers = claim_runs.initial_repetitions(studies)
    runs = [run for key, study in studies.items() for run in study.plan(numbers[key]).runs]
    return MeasurementCost(len(runs), sum(run.duration_s for run in runs))


def main(arguments: list[str]) -> int:
    """Write pages and figures, or compare them; return the exit status."""
    contents = made()
    wrong = differing(contents)
    if arguments == ["--check"]:
        for path in wrong:
            sys.stderr.write(f"{path}: run tools/reproduction.py to make it again\n")
        return 1 if wrong else 0
    for path in wrong:
        if path in contents:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(contents[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
