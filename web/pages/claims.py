"""The page of the papers' claims: verdicts as a matrix, and the evidence of each statement."""

from __future__ import annotations

from flask import Blueprint, Response, abort, current_app, render_template, request, url_for

from results.claims.claim_summaries import rows_of
from results.claims.figure import figure as drawn
from results.claims.figure import figure_rows
from results.claims.judge import NOT_YET, VERDICTS, Verdict
from results.claims.page.agreement import figure as drawn_agreement
from results.claims.page.document import judged_claims, verdicts
from results.claims.page.ten_lines import HEADINGS, TEN_LINES
from web.charts.drawing import DRAWING
from web.http import query
from web.views import claim_evidence

pages = Blueprint("claims", __name__)


@pages.get("/papers")
def papers() -> str:
    """Show every claim of every paper with its verdict."""
    query.check_names(request.args, ())
    known, measured = claim_evidence.read()
    columns: list[tuple[str, Verdict | None]] = [
        *((known_verdict, known_verdict) for known_verdict in VERDICTS),
        (NOT_YET, None),
    ]
    by_claim = verdicts(known, measured)
    matrix = [
        (name, [[claim for claim in paper.claims if by_claim[name, claim] == verdict]
                for _heading, verdict in columns])
        for name, paper in known.items()
    ]  # fmt: skip
    return render_template(
        "papers.html",
        papers=known,
        headings=[heading for heading, _wanted in columns],
        matrix=matrix,
        totals=[
            sum(claim_verdict == verdict for claim_verdict in by_claim.values())
            for _heading, verdict in columns
        ],
        total=len(by_claim),
        measured=bool(measured),
        lesson_headings=HEADINGS,
        lessons=TEN_LINES,
        page_of={
            statement.id: (name, statement.claim)
            for name, paper in known.items()
            for statement in paper.statements()
        },
        folder=current_app.config[claim_evidence.FOLDER],
    )


@pages.get("/papers/agreement.svg")
def agreement() -> Response:
    """Return the figure of how much of each claim agrees."""
    query.check_names(request.args, ())
    judged = judged_claims(*claim_evidence.read())
    if not any(claim is not None and claim.agreement is not None for claim in judged.values()):
        abort(404, "nothing of any claim was measured")
    with DRAWING:
        data = drawn_agreement(
            judged, lambda paper, claim: url_for("claims.paper", paper=paper, _anchor=claim)
        )
    return Response(data, mimetype="image/svg+xml")


@pages.get("/papers/<paper>")
def paper(paper: str) -> str:
    """Show the claims of one paper with their evidence."""
    query.check_names(request.args, ())
    known, measured = claim_evidence.read()
    chosen = claim_evidence.paper_of(known, paper)
    by_claim = judged_claims(known, measured)
    return render_template(
        "paper.html",
        name=paper,
        title=chosen.title,
        claims=[
            claim_evidence.claim_evidence(
                paper, claim, chosen, by_claim[paper, claim], measured.get((paper, claim))
            )
            for claim in chosen.claims
        ],
    )


@pages.get("/papers/<paper>/<statement>.<any('svg','png','pdf'):form>")
def figure(paper: str, statement: str, form: str) -> Response:
    """Return the figure of ``orchestrator reproduce --figures`` for a statement."""
    query.check_names(request.args, ())
    known, measured = claim_evidence.read()
    statements = claim_evidence.paper_of(known, paper).statements()
    chosen = next((candidate for candidate in statements if candidate.id == statement), None)
    if chosen is None:
        abort(404, f"{paper} has no statement {statement}")
    made = measured.get((paper, chosen.claim))
    rows = rows_of(chosen, made)
    if not any(judged.finding.mean is not None for judged in rows):
        abort(404, f"nothing of {statement} was measured")

    with DRAWING:
        data = drawn(f"{chosen.id}: {chosen.says}", chosen.unit, figure_rows(rows), form)
    kinds = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
    return Response(data, mimetype=kinds[form])
