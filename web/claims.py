"""The page of the papers' claims: verdicts as a matrix, and the evidence of each statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, abort, current_app, render_template, request

from results.claims import loading, places
from results.claims.judge import CANNOT, VERDICTS, Finding, Verdict, combined_verdict
from results.claims.measured import Measured, read_all
from results.claims.model import Paper, Statement
from results.claims.page import NOT_YET, verdicts
from results.claims.rows import Row
from web import query
from web.cache import cached
from web.experiments import DRAWING

claims = Blueprint("claims", __name__)

FOLDER = "ORCHESTRATOR_CLAIMS"
"""Key of the application's configuration: the folder with the claims and what was measured."""

USUAL = places.folder()
"""The claims of the checkout, or those that came with the wheel."""


@dataclass(frozen=True)
class Line:
    """A statement with its judged rows; ``command`` tests it again.

    ``length`` is that of its runs where most of the claim has another, else None.
    """

    statement: Statement
    verdict: str
    length: str | None
    rows: Sequence[tuple[Row, Finding]]
    command: str


@dataclass(frozen=True)
class Told:
    """A claim with its verdict, its statements, and where its values come from."""

    id: str
    says: str
    verdict: str
    lines: Sequence[Line]
    length: str | None
    runs: int
    kernel: str


@claims.get("/papers")
def papers() -> str:
    """Show every claim of every paper with its verdict."""
    query.check_names(request.args, ())
    known, measured = read()
    columns: list[tuple[str, Verdict | None]] = [*((one, one) for one in VERDICTS), (NOT_YET, None)]
    found = verdicts(known, measured)
    matrix = [
        (name, [[claim for claim in paper.claims if found[name, claim] == wanted]
                for _heading, wanted in columns])
        for name, paper in known.items()
    ]  # fmt: skip
    return render_template(
        "papers.html",
        papers=known,
        headings=[heading for heading, _wanted in columns],
        matrix=matrix,
        totals=[sum(one == wanted for one in found.values()) for _heading, wanted in columns],
        total=len(found),
        folder=current_app.config[FOLDER],
        runnable=_runnable(),
    )


@claims.get("/papers/<paper>")
def paper(paper: str) -> str:
    """Show the claims of one paper with their evidence."""
    query.check_names(request.args, ())
    known, measured = read()
    one = paper_of(known, paper)
    found = verdicts(known, measured)
    return render_template(
        "paper.html",
        name=paper,
        title=one.title,
        claims=[
            _told(paper, claim, one, found[paper, claim], measured.get((paper, claim)))
            for claim in one.claims
        ],
        runnable=_runnable(),
    )


@claims.get("/papers/<paper>/<statement>.<any('svg','png','pdf'):form>")
def figure(paper: str, statement: str, form: str) -> Response:
    """Return the figure of ``orchestrator reproduce --figures`` for a statement."""
    query.check_names(request.args, ())
    known, measured = read()
    found = next((one for one in paper_of(known, paper).statements() if one.id == statement), None)
    if found is None:
        abort(404, f"{paper} has no statement {statement}")
    made = measured.get((paper, found.claim))
    rows = made.findings(found) if made is not None else []
    if not any(finding.mean is not None for _row, finding in rows):
        abort(404, f"nothing of {statement} was measured")
    from results.claims.figure import figure as drawn

    with DRAWING:
        data = drawn(_document(found, rows), form)
    kinds = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
    return Response(data, mimetype=kinds[form])


def _runnable() -> bool:
    """Tell whether the scenarios are there that test the claims again; a wheel has none."""
    return bool(current_app.config[FOLDER] != places.IN_WHEEL)


def _document(statement: Statement, rows: Sequence[tuple[Row, Finding]]) -> dict[str, Any]:
    """Return what the figure needs, as the document of ``reproduce --json`` has it."""
    return {
        "id": statement.id,
        "says": statement.says,
        "unit": statement.unit,
        "rows": [
            {
                "label": row.label,
                "numbers": list(row.numbers),
                "accepted": [row.accepted.low, row.accepted.high],
                **{name: getattr(finding, name) for name in ("mean", "low", "high", "verdict")},
            }
            for row, finding in rows
        ],
    }


def _told(
    name: str, claim: str, paper: Paper, verdict: Verdict | None, made: Measured | None
) -> Told:
    statements = paper.claims[claim].statements
    main = made.main(statements) if made is not None else None
    length = main.length if main is not None else None
    lines = []
    for statement in statements:
        rows = made.findings(statement) if made is not None else []
        own = made.of(statement).length if made is not None and rows else length
        told = verdict_of(statement, rows)
        other = own if own != length else None
        lines.append(Line(statement, told, other, rows, command(name, statement, made) or ""))
    document = main.document if main is not None else {}
    return Told(
        claim, paper.claims[claim].says, verdict or NOT_YET, lines, length,
        len(document.get("runs", ())), str(document.get("kernel", "")),
    )  # fmt: skip


def verdict_of(statement: Statement, rows: Sequence[tuple[Row, Finding]]) -> str:
    """Return the verdict on a statement by its judged rows, or that there is none yet."""
    if rows:
        return combined_verdict(finding.verdict for _row, finding in rows)
    return CANNOT if statement.cannot is not None else NOT_YET


def command(paper: str, statement: Statement, made: Measured | None) -> str | None:
    """Return the command that tests a statement again; None if it cannot be tested."""
    if statement.cannot is not None:
        return None
    length = made.of(statement).length if made is not None else "quick"
    return f"orchestrator reproduce {paper}:{statement.id} --{length}"


def paper_of(known: Mapping[str, Paper], name: str) -> Paper:
    """Return the paper of a name; 404 if there is none."""
    if name not in known:
        abort(404, f"there is no paper {name}; there are {', '.join(known) or 'none'}")
    return known[name]


def read() -> tuple[dict[str, Paper], dict[tuple[str, str], Measured]]:
    """Return papers and what was measured; read again when a file has changed."""
    folder = Path(current_app.config[FOLDER])
    files = sorted([*folder.glob("*.yaml"), *folder.glob("measured/*.json")])
    state = tuple((path.name, path.stat().st_mtime_ns) for path in files)
    return cached(
        ("claims", folder, state),
        lambda: ((loading.load_all(folder), read_all(folder / "measured")), False),
    )
