"""The JSON API of the papers' claims: verdicts, and the evidence of each statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from flask import Response, abort, jsonify

from results.claims import documents
from results.claims.claim_summaries import ClaimSummaries, ClaimSummary, rows_of
from results.claims.contract import ClaimRow, State
from results.claims.judge import NOT_YET
from results.claims.judged_statements import JudgedClaim, JudgedStatement
from results.claims.page.document import judged_claims
from results.claims.stated.model import Paper, Statement
from results.contract.base import SCHEMA
from web.api import openapi
from web.contract import claims as contract
from web.contract.parameters import ClaimAddress, PaperAddress
from web.views import claim_evidence

papers = openapi.ApiBlueprint("api_papers", __name__, "Claims of papers, and what holds of them.")


@papers.address("/papers")
def listed() -> Response:
    """Return every claim of every paper with its verdict."""
    known, measured = claim_evidence.read()
    by_claim = judged_claims(known, measured)
    answers: list[State] = [
        NOT_YET if judged is None else judged.verdict for judged in by_claim.values()
    ]
    answer = contract.Papers.model_construct(
        schema_=SCHEMA,
        papers=[
            contract.ListedPaper.model_construct(
                name=name,
                title=paper.title,
                claims=[
                    contract.ListedClaim.model_construct(
                        None, id=claim, says=of.says, **_verdict(by_claim[name, claim])
                    )
                    for claim, of in paper.claims.items()
                ],
            )
            for name, paper in known.items()
        ],
        totals={verdict: answers.count(verdict) for verdict in get_args(State)},
    )
    return jsonify(answer.document())


@papers.address("/papers/<paper>")
def paper(path: PaperAddress) -> Response:
    """Return the claims of one paper with their evidence."""
    known, measured = claim_evidence.read()
    chosen = claim_evidence.paper_of(known, path.paper)
    by_claim = judged_claims(known, measured)
    answers = []
    for claim, of in chosen.claims.items():
        made = measured.get((path.paper, claim))
        main = made.main(of.statements) if made is not None else None
        answers.append(
            contract.Claim.model_construct(
                None,
                id=claim,
                says=of.says,
                **_verdict(by_claim[path.paper, claim]),
                length=None if main is None else main.length,
                runs=0 if main is None else len(main.record.runs),
                kernel=None if main is None else main.record.kernel_as_json,
                statements=[
                    _statement(path.paper, chosen, statement, made) for statement in of.statements
                ],
            )
        )
    answer = contract.OnePaper.model_construct(
        schema_=SCHEMA, paper=path.paper, title=chosen.title, claims=answers
    )
    return jsonify(answer.document())


@papers.address("/papers/<paper>/<claim>")
def measured(path: ClaimAddress) -> Response:
    """Return what was measured of a claim or statement: values, runs and hashes."""
    known, summaries = claim_evidence.read()
    chosen = claim_evidence.paper_of(known, path.paper)
    summary = _summary(
        chosen, {claim: summaries.get((path.paper, claim)) for claim in chosen.claims}, path
    )
    if summary is None:
        abort(404, f"nothing of {path.paper} {path.claim} was measured")
    return jsonify(summary.record.document())


def _verdict(claim: JudgedClaim | None) -> dict[str, Any]:
    """Return the verdict on a claim, and how much of it agrees."""
    if claim is None:
        return {"verdict": NOT_YET, "agreement": None}
    return {"verdict": claim.verdict, "agreement": documents.agreement(claim.agreement)}


def _summary(
    paper: Paper, summaries: Mapping[str, ClaimSummaries | None], path: ClaimAddress
) -> ClaimSummary | None:
    """Return the summary that counts for a statement, or for most statements of a claim."""
    named = [
        statement
        for statement in paper.statements()
        if path.claim in (statement.claim, statement.id)
    ]
    made = summaries[named[0].claim] if named else None
    return made.main(named) if made is not None else None


def _statement(
    name: str, paper: Paper, statement: Statement, made: ClaimSummaries | None
) -> contract.Statement:
    """Return a statement with the keys of ``orchestrator reproduce --json``."""
    rows = rows_of(statement, made)
    summary = made.of(statement) if made is not None else None
    measured = summary is not None and summary.values(statement)
    return documents.statement(
        contract.Statement,
        name,
        statement,
        claim_evidence.verdict_of(statement, rows),
        JudgedStatement(name, statement, rows).agreement,
        length=summary.length if summary is not None and measured else None,
        command=claim_evidence.command(name, paper, statement, made),
        rows=[documents.row(ClaimRow, judged) for judged in rows],
    )
