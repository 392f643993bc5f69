#!/usr/bin/env python3
"""Write docs/reproduction.md: all claims of the papers with their verdicts.

usage: reproduction.py [--check]

It is made of scenarios/papers/claims/*.yaml and the summaries in scenarios/papers/claims/measured,
which ``orchestrator reproduce --write`` writes. With --check nothing is written. Status 1 then says
that the page is not what they make.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.claims.model import Paper
    from results.claims.page import Cost

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ROOT / "scenarios/papers/claims"
PAGE = ROOT / "docs/reproduction.md"


def made() -> str:
    """Return the page that claims and summaries make."""
    from results.claims.model import load_all
    from results.claims.page import Evidence, page
    from results.claims.record import read_all, read_causes

    papers, folder = load_all(CLAIMS), CLAIMS / "measured"
    measured = read_all(folder)
    return page(papers, Evidence(measured, read_causes(folder), costs(papers, measured)))


def costs(
    papers: Mapping[str, Paper], measured: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Cost]:
    """Return what the first repetitions of each claim without a summary take, by (paper, claim)."""
    from orchestrator.cli import _reproducing
    from results.claims.page import Cost

    found = {}
    for name, paper in papers.items():
        for claim in paper.claims:
            if (name, claim) in measured:
                continue
            chosen = [(name, each) for each in paper.claims[claim].statements]
            studies = _reproducing.prepare(papers, chosen, "quick")
            numbers = _reproducing.first(studies)
            runs = [run for key, study in studies.items() for run in study.plan(numbers[key]).runs]
            if runs:
                found[name, claim] = Cost(len(runs), sum(run.duration_s for run in runs))
    return found


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; return the exit status."""
    text = made()
    if arguments == ["--check"]:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            sys.stderr.write(f"{PAGE}: run tools/reproduction.py to make it again\n")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
