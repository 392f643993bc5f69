"""Reads files of claims, and finds the statements that a user names."""

from __future__ import annotations

from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.files import yaml_models
from orchestrator.suggestions import suggest
from results.claims.stated.model import Paper, Statement

MAX_BYTES = 500_000
"""Limit of a file."""


def load(path: Path) -> Paper:
    """Read a file of claims.

    Raises:
        UsageError: it cannot be read, or is not valid.
    """
    return yaml_models.read(path, Paper, MAX_BYTES)


def load_all(folder: Path) -> dict[str, Paper]:
    """Return the papers of a folder by the name of their file."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.yaml"))}


def select(papers: dict[str, Paper], target: str) -> list[tuple[str, Statement]]:
    """Return (paper, statement) of PAPER, PAPER:CLAIM or PAPER:STATEMENT.

    Raises:
        UsageError: there is none.
    """
    name, colon, chosen = target.partition(":")
    if name not in papers:
        raise UsageError(f"there is no paper {name or 'without a name'}{_instead(papers, target)}")
    every = list(papers[name].statements())
    statements = [
        statement for statement in every if not colon or chosen in (statement.claim, statement.id)
    ]
    if not statements:
        raise UsageError(f"{name} has no {_missing(papers[name], chosen)}")
    return [(name, statement) for statement in statements]


def _instead(papers: dict[str, Paper], target: str) -> str:
    """Return what may be meant by a target whose paper is unknown."""
    listed = ", ".join(papers)
    chosen = target.rpartition(":")[2].upper()
    for name, paper in papers.items():
        if any(chosen in (statement.claim, statement.id) for statement in paper.statements()):
            return f" (did you mean `{name}:{chosen}`?); there are {listed}"
    return f"{suggest(target.partition(':')[0], papers)}; there are {listed}"


def _missing(paper: Paper, chosen: str) -> str:
    """Return the name of a claim or statement that a paper lacks, and those that it has."""
    claim = chosen.partition(".")[0]
    if claim in paper.claims:
        ids = ", ".join(statement.id for statement in paper.claims[claim].statements)
        return f"statement {chosen}; the statements of {claim} are {ids}"
    claims = ", ".join(paper.claims)
    return f"claim {chosen}{suggest(chosen, paper.claims)}; its claims are {claims}"
