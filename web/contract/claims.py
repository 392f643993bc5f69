"""The papers' claims with their verdicts and the evidence."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from results.claims.judge import RowVerdict, Verdict
from results.claims.page.document import NOT_YET
from results.contract.base import Number, ResponseModel, Versioned
from results.contract.experiments import LeftOut

State = Literal[
    "holds", "mostly holds", "mixed", "mostly does not hold", "does not hold", "open",
    "cannot be tested here", "not measured yet",
]  # fmt: skip
"""A verdict, or that there is none yet."""

assert set(get_args(State)) == {*get_args(Verdict), NOT_YET}, "those of results.claims"


class Agreement(ResponseModel):
    """How much agrees with the paper: a share, from low to high as rows are open."""

    low: float
    high: float


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


class ClaimRow(ResponseModel):
    """One comparison with the paper, in the unit of its statement."""

    label: str
    paper: str = Field(description="what the paper has")
    numbers: list[float] = Field(description="the paper's numbers")
    accepted: tuple[Number, Number] = Field(description="what agrees with it; null: open")
    near: tuple[Number, Number] = Field(description="what agrees or is near; null: open")
    mean: Number
    low: Number
    high: Number
    n: int
    verdict: RowVerdict
    reason: str | None
    needed: int | None = Field(description="about how many repetitions would decide")
    least: int = Field(description="repetitions that were made at first")
    left_out: LeftOut
    values: list[float] = Field(description="in the order of the repetitions")


class Statement(ResponseModel):
    """A statement of a claim, with the keys of `orchestrator reproduce --json`."""

    paper: str
    claim: str
    id: str
    says: str
    place: str = Field(description="section, figure or table of the paper")
    verdict: State
    agreement: Agreement | None = Field(description="of its rows; null: it cannot be tested")
    cannot: str | None = Field(description="why it cannot be tested here")
    in_part: str | None = Field(description="why it is testable in part only")
    cause: str | None = Field(description="why it does not hold here")
    unit: str
    reason_of_tolerance: str | None
    length: Literal["reduced", "quick", "full"] | None = Field(
        description="length of its runs; null: not measured yet"
    )
    command: str | None = Field(description="tests it again; null: it cannot be tested")
    rows: list[ClaimRow]


class Claim(ListedClaim):
    """A claim with its evidence."""

    length: Literal["reduced", "quick", "full"] | None = Field(
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


class Measured(Versioned):
    """What was measured of a claim, as `orchestrator reproduce --write` keeps it."""

    paper: str
    claim: str
    statement: str | None = Field(default=None, description="id if it is of a single statement")
    length: Literal["reduced", "quick", "full"]
    ablation: str | None = Field(default=None)
    kernel: Any = Field(description="release; several if runs differ")
    linux_sha256: Any = Field(description="of the kernel's source; several if runs differ")
    modules: dict[str, str] = Field(description="SHA-256 of each kernel module by name")
    link_model: Any
    digest_version: Any
    sandboxed: bool
    experiments: dict[str, list[Any]] = Field(description="scenario and overrides by name")
    statements: dict[str, list[dict[str, Any]]] = Field(description="values of each row by id")
    runs: list[list[Any]] = Field(
        description="of each run the scenario's name, variant, repetition, seed, verdict, digest "
        "and, in newer summaries, the experiment's name"
    )
