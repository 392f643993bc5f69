#!/usr/bin/env python3
"""Write docs/reproduction.md and its figures: all claims of the papers with their verdicts.

usage: reproduction.py [--check]

It is made of scenarios/papers/claims/*.yaml and the summaries in scenarios/papers/claims/measured,
which ``orchestrator reproduce --write`` writes. With --check nothing is written. Status 1 then says
that the page or a figure is not what they make.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.claims.measured import Measured
    from results.claims.model import Length, Paper, Statement
    from results.claims.page import Cost

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ROOT / "scenarios/papers/claims"
PAGE = ROOT / "docs/reproduction.md"
FIGURES = ROOT / "docs/reproduction"


def made() -> dict[Path, bytes]:
    """Return the page and its figures, which claims and summaries make, by their files."""
    from results.claims.loading import load_all
    from results.claims.measured import read_all, read_causes
    from results.claims.page import Evidence, page
    from results.claims.page_figures import figures

    papers, folder = load_all(CLAIMS), CLAIMS / "measured"
    measured, causes = read_all(folder), read_causes(folder)
    evidence = Evidence(measured, causes, costs(papers, measured), full_costs(papers, measured))
    text = page(papers, evidence)
    drawn = {FIGURES / name: data for name, data in figures(papers, measured, causes).items()}
    return {PAGE: text.encode(), **drawn}


def differing(wanted: Mapping[Path, bytes]) -> list[Path]:
    """Return the files that are missing, differ from these, or are figures of no claim."""
    there = {PAGE, *FIGURES.glob("*")}
    return sorted(
        path
        for path in {*wanted, *there}
        if path not in wanted or not path.exists() or path.read_bytes() != wanted[path]
    )


def costs(
    papers: Mapping[str, Paper], measured: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Cost]:
    """Return what the first repetitions of each claim without a summary take, by (paper, claim)."""
    found = {}
    for name, paper in papers.items():
        for claim in paper.claims:
            if (name, claim) not in measured:
                cost = first_repetitions(papers, name, paper.claims[claim].statements, "quick")
                if cost.runs:
                    found[name, claim] = cost
    return found


def full_costs(
    papers: Mapping[str, Paper], measured: Mapping[tuple[str, str], Measured]
) -> dict[tuple[str, str], Cost]:
    """Return what the full length takes for statements whose claim was measured without them."""
    return {
        (name, each.id): first_repetitions(papers, name, [each], "full")
        for (name, claim), made in measured.items()
        for each in papers[name].claims[claim].statements
        if each.cannot is None and not made.findings(each)
    }


def first_repetitions(
    papers: Mapping[str, Paper], name: str, statements: Sequence[Statement], length: Length
) -> Cost:
    """Return what the first repetitions of some statements of a paper take."""
    from orchestrator.cli import _claim_runs
    from results.claims.page import Cost

    studies = _claim_runs.prepare(papers, [(name, each) for each in statements], length)
    numbers = _claim_runs.initial_repetitions(studies)
    runs = [run for key, study in studies.items() for run in study.plan(numbers[key]).runs]
    return Cost(len(runs), sum(run.duration_s for run in runs))


def main(arguments: list[str]) -> int:
    """Write page and figures, or compare them; return the exit status."""
    wanted = made()
    wrong = differing(wanted)
    if arguments == ["--check"]:
        for path in wrong:
            sys.stderr.write(f"{path}: run tools/reproduction.py to make it again\n")
        return 1 if wrong else 0
    FIGURES.mkdir(exist_ok=True)
    for path in wrong:
        if path in wanted:
            path.write_bytes(wanted[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
