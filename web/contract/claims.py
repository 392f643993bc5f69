"""The papers' claims with their verdicts and the evidence."""

from __future__ import annotations

from pydantic import Field

from results.claims.contract import Agreement, ClaimRow, State, StatedStatement
from results.claims.stated.model import Length
from results.contract.base import ResponseModel, Versioned


class ListedClaim(ResponseModel):
    """A claim with its verdict."""

    id: str
    says: str = Field(description="the claim in our words")
    verdict: State
    agreement: Agreement | None = Field(
        description="of its statements that count; null: none does, or nothing was measured"
    )


class ListedPaper(ResponseModel):
    """A paper with its claims."""

    name: str
    title: str = Field(description="authors, title, where it appeared")
    claims: list[ListedClaim]


class Papers(Versioned):
    """All papers. There are none where the claims are not installed."""

    papers: list[ListedPaper]
    totals: dict[State, int] = Field(description="number of claims by verdict")


class Statement(StatedStatement):
    """A statement of a claim, with the keys of `orchestrator reproduce --json`."""

    length: Length | None = Field(description="length of its runs; null: not measured yet")
    command: str | None = Field(description="tests it again; null: it cannot be tested")
    rows: list[ClaimRow]


class Claim(ListedClaim):
    """A claim with its evidence."""

    length: Length | None = Field(
        description="length that most of its statements were measured at; null: none was"
    )
    runs: int
    kernel: str | list[str] | None = Field(description="release; several if runs differ")
    statements: list[Statement]


class OnePaper(Versioned):
    """The claims of a paper with their evidence."""

    paper: str
    title: str
    claims: list[Claim]
