"""The JSON API of the papers' claims: verdicts, and the evidence of each statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, abort, jsonify

from results.claims.judge import VERDICTS, Finding
from results.claims.measured import Measured, Summary
from results.claims.model import Paper, Statement
from results.claims.page import NOT_YET, verdicts
from results.claims.record import SCHEMA
from results.claims.rows import Row
from web import claims, openapi
from web.contract.parameters import ClaimPlace, PaperPlace

papers = openapi.Part("api_papers", __name__, "Claims of papers, and what holds of them.")


@papers.address("/papers")
def listed() -> Response:
    """Return every claim of every paper with its verdict."""
    known, measured = claims.read()
    found = verdicts(known, measured)
    told = [verdict or NOT_YET for verdict in found.values()]
    answer = {
        "schema": SCHEMA,
        "papers": [
            {
                "name": name,
                "title": paper.title,
                "claims": [
                    {"id": claim, "says": of.says, "verdict": found[name, claim] or NOT_YET}
                    for claim, of in paper.claims.items()
                ],
            }
            for name, paper in known.items()
        ],
        "totals": {verdict: told.count(verdict) for verdict in (*VERDICTS, NOT_YET)},
    }
    return jsonify(answer)


@papers.address("/papers/<paper>")
def paper(path: PaperPlace) -> Response:
    """Return the claims of one paper with their evidence."""
    known, measured = claims.read()
    one = claims.paper_of(known, path.paper)
    found = verdicts(known, measured)
    told = []
    for claim, of in one.claims.items():
        made = measured.get((path.paper, claim))
        main = made.main(of.statements) if made is not None else None
        document = main.document if main is not None else {}
        told.append(
            {
                "id": claim,
                "says": of.says,
                "verdict": found[path.paper, claim] or NOT_YET,
                "length": document.get("length"),
                "runs": len(document.get("runs", ())),
                "kernel": document.get("kernel"),
                "statements": [_statement(path.paper, each, made) for each in of.statements],
            }
        )
    return jsonify({"schema": SCHEMA, "paper": path.paper, "title": one.title, "claims": told})


@papers.address("/papers/<paper>/<claim>")
def measured(path: ClaimPlace) -> Response:
    """Return what was measured of a claim or statement: values, runs and hashes."""
    known, found = claims.read()
    one = claims.paper_of(known, path.paper)
    summary = _summary(one, {claim: found.get((path.paper, claim)) for claim in one.claims}, path)
    if summary is None:
        abort(404, f"nothing of {path.paper} {path.claim} was measured")
    return jsonify(summary.document)


def _summary(
    paper: Paper, found: Mapping[str, Measured | None], path: ClaimPlace
) -> Summary | None:
    """Return the summary that counts for a statement, or for most statements of a claim."""
    named = [each for each in paper.statements() if path.claim in (each.claim, each.id)]
    made = found[named[0].claim] if named else None
    return made.main(named) if made is not None else None


def _statement(name: str, statement: Statement, made: Measured | None) -> dict[str, Any]:
    """Return a statement with the keys of ``orchestrator reproduce --json``."""
    rows = made.findings(statement) if made is not None else []
    summary = made.of(statement) if made is not None else None
    values = summary.values(statement) if summary is not None else ()
    by_label = {each["label"]: each for each in values}
    return {
        "paper": name,
        "claim": statement.claim,
        "id": statement.id,
        "says": statement.says,
        "place": statement.place,
        "verdict": claims.verdict_of(statement, rows),
        "cannot": statement.cannot,
        "in_part": statement.in_part,
        "cause": statement.cause,
        "unit": statement.unit,
        "reason_of_tolerance": statement.reason,
        "length": summary.length if summary is not None and values else None,
        "command": claims.command(name, statement, made),
        "rows": [_row(row, finding, by_label[row.label]) for row, finding in rows],
    }


def _row(row: Row, finding: Finding, made: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": row.label,
        "paper": row.paper,
        "numbers": list(row.numbers),
        "accepted": [row.accepted.low, row.accepted.high],
        **{
            name: getattr(finding, name)
            for name in ("mean", "low", "high", "n", "verdict", "reason", "needed")
        },
        "least": made["least"],
        "left_out": {name: made[name] for name in ("unfaithful", "failed", "identical")},
        "values": made["values"],
    }
