"""Papers' claims with their verdicts and evidence, as pages and the API show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flask import abort, current_app

from results.claims import claim_folders
from results.claims.claim_summaries import ClaimSummaries, read_all, rows_of
from results.claims.contract import State
from results.claims.judge import NOT_YET
from results.claims.judged_statements import JudgedClaim, JudgedRow, JudgedStatement
from results.claims.marks import marks, sentence
from results.claims.stated import loading
from results.claims.stated.model import Paper, Statement
from web.http.cache import cached

FOLDER = "ORCHESTRATOR_CLAIMS"
"""Key of the application's configuration: the folder with the claims and what was measured."""

USUAL = claim_folders.folder()
"""The claims of the checkout, or those that came with the wheel."""


@dataclass(frozen=True)
class StatementEvidence:
    """A statement with its judged rows; ``command`` tests it again.

    ``length`` is that of its runs where most of the claim has another, else None.
    """

    statement: Statement
    verdict: str
    length: str | None
    rows: Sequence[JudgedRow]
    command: str


@dataclass(frozen=True)
class ClaimEvidence:
    """A claim with its verdict, its statements, and where its values come from.

    ``marks`` has a mark for each statement, and ``count`` says how many hold; both are empty where
    nothing was measured.
    """

    id: str
    says: str
    verdict: str
    marks: str
    count: str
    lines: Sequence[StatementEvidence]
    length: str | None
    runs: int
    kernel: str


def claim_evidence(
    name: str, claim: str, paper: Paper, judged: JudgedClaim | None, made: ClaimSummaries | None
) -> ClaimEvidence:
    """Return a claim with what was measured of it."""
    statements = paper.claims[claim].statements
    main = made.main(statements) if made is not None else None
    length = main.length if main is not None else None
    lines = []
    for statement in statements:
        rows = rows_of(statement, made)
        own = made.of(statement).length if made is not None and rows else length
        verdict_here = verdict_of(statement, rows)
        other = own if own != length else None
        again = command(name, paper, statement, made) or ""
        lines.append(StatementEvidence(statement, verdict_here, other, rows, again))
    return ClaimEvidence(
        id=claim,
        says=paper.claims[claim].says,
        verdict=NOT_YET if judged is None else judged.verdict,
        marks="" if judged is None else marks(judged),
        count="" if judged is None else sentence(judged),
        lines=lines,
        length=length,
        runs=0 if main is None else len(main.record.runs),
        kernel="" if main is None else main.record.kernel,
    )


def verdict_of(statement: Statement, rows: Sequence[JudgedRow]) -> State:
    """Return the verdict on a statement by its judged rows, or that there is none yet."""
    if statement.cannot is None and not rows:
        return NOT_YET
    return JudgedStatement("", statement, rows).verdict


def command(
    name: str, paper: Paper, statement: Statement, made: ClaimSummaries | None
) -> str | None:
    """Return the command that tests a statement again; None if it cannot be tested."""
    if statement.cannot is not None:
        return None
    options = "--quick" if made is None else made.of(statement).options(paper.experiments)
    return f"orchestrator reproduce {name}:{statement.id} {options}"


def paper_of(known: Mapping[str, Paper], name: str) -> Paper:
    """Return the paper of a name; 404 if there is none."""
    if name not in known:
        abort(404, f"there is no paper {name}; there are {', '.join(known) or 'none'}")
    return known[name]


def read() -> tuple[dict[str, Paper], dict[tuple[str, str], ClaimSummaries]]:
    """Return papers and what was measured; read again when a file has changed."""
    folder = Path(current_app.config[FOLDER])
    files = sorted([*folder.glob("*.yaml"), *folder.glob("measured/*.json")])
    state = tuple((path.name, path.stat().st_mtime_ns) for path in files)
    return cached(
        ("claims", folder, state),
        lambda: ((loading.load_all(folder), read_all(folder / "measured")), False),
    )
