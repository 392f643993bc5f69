"""The papers' claims as the JSON of ``reproduce``, its summaries and the API have them.

Values are in the unit of their statement.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from results.claims.judge import NOT_YET, RowVerdict, Verdict
from results.claims.stated.model import Length
from results.contract.base import Number, ResponseModel, Versioned
from results.contract.experiments import LeftOut
from results.contract.plans import EstimateOrigin

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


class StatedStatement(ResponseModel):
    """What a statement says, with the verdict on it."""

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


class RowWithRuns(ClaimRow):
    """A row with the runs that its values are of."""

    runs: list[str] = Field(description="ids")


class MeasuredMean(ResponseModel):
    """The mean of a row with its 95% confidence interval; a single value has none."""

    mean: float
    low: Number
    high: Number
    n: int


class ComparedNumber(ResponseModel):
    """A number that is compared with the paper; a statement without numbers has one, too."""

    paper: str
    id: str = Field(description="the claim's; it has many entries")
    statement_id: str
    statement: str
    row: str
    paper_value: float | list[Number] | None = Field(
        description="[low, high] with null for an open end; null: the paper has no number"
    )
    unit: str
    measured: MeasuredMean | None
    verdict: RowVerdict | State = Field(description="on the row")
    length: Length
    runs: list[str]
    command: str


class ClaimVerdict(ResponseModel):
    """The word for a claim by its chosen statements."""

    paper: str
    id: str
    says: str
    verdict: State
    agreement: Agreement | None = Field(description="null: nothing can be tested")


class DecisionCost(ResponseModel):
    """What deciding a statement costs."""

    runs: int | None = Field(description="more runs; null: no number decides")
    minutes: Number
    length: Literal["full"] | None = Field(
        default=None, description="if only that length has runs of the statement"
    )


class ReproducedStatement(StatedStatement):
    """A statement with its values."""

    absent: int = Field(description="rows that the length has no runs for")
    cost: DecisionCost | None
    command: str
    rows: list[RowWithRuns]


class AblationStatement(ResponseModel):
    """A statement as the runs of an ablation have it."""

    id: str
    says: str
    place: str
    unit: str
    verdict: State
    agreement: Agreement | None
    rows: list[RowWithRuns]


class AblationResult(ResponseModel):
    """An ablation of a claim: runs with one thing changed."""

    paper: str
    claim: str
    name: str
    says: str
    asks: str
    set: list[str] = Field(description="overrides of the scenario")
    statements: list[AblationStatement]


class ComparedDigests(ResponseModel):
    """The runs of a claim or ablation beside its committed summary of the same length."""

    paper: str
    id: str
    ablation: str | None
    equal: list[str] = Field(description="runs with the digest of the summary")
    other: list[str] = Field(description="with another one")
    absent: list[str] = Field(description="that the summary does not have")
    changed: list[str] = Field(description="kernel and modules with another hash")
    link_models: list[int] = Field(
        description="of the summary, if not those of the runs; it stays valid while digests are "
        "equal"
    )


class Reproduction(Versioned):
    """What was found of the chosen statements, as ``orchestrator reproduce --json`` prints it."""

    length: Length
    claims: list[ComparedNumber]
    verdicts: list[ClaimVerdict]
    statements: list[ReproducedStatement]
    ablations: list[AblationResult]
    digests: list[ComparedDigests]


class PlannedExperiment(ResponseModel):
    """The runs of an experiment of a claim, and what they would cost."""

    paper: str
    experiment: str
    ablation: str | None = Field(description="null: what the claim itself needs")
    scenario: str
    variants: int
    least: int = Field(description="repetitions of each variant that are made at first")
    most: int = Field(description="repetitions that open rows may ask for")
    minutes_least: float
    minutes_most: float
    missing: int = Field(description="of the first runs those that are not stored")
    minutes_missing: float
    estimated_from: EstimateOrigin | None = Field(
        description="of the least certain variant; null: no variant is needed"
    )


class ReproductionPlan(Versioned):
    """What runs would cost, as ``orchestrator reproduce --plan --json`` prints it."""

    experiments: list[PlannedExperiment]


class MeasuredRow(ResponseModel):
    """The values of a row, in the unit of its statement."""

    label: str
    values: list[float] = Field(description="in the order of the repetitions")
    least: int = Field(description="repetitions that were made at first")
    unfaithful: int = Field(description="number of runs that do not count, as of the next two")
    failed: int
    identical: int
    places: int = Field(
        default=1,
        description="number of places of which the largest, least or mean was taken, if not 1",
    )


class Measured(Versioned):
    """What was measured of a claim, as `orchestrator reproduce --write` keeps it."""

    paper: str
    claim: str
    statement: str | None = Field(default=None, description="id if it is of a single statement")
    length: Length
    ablation: str | None = Field(default=None)
    kernel: Any = Field(description="release; several if runs differ")
    linux_sha256: Any = Field(description="of the kernel's source; several if runs differ")
    modules: dict[str, str] = Field(description="SHA-256 of each kernel module by name")
    link_model: Any
    digest_version: Any
    sandboxed: bool
    experiments: dict[str, list[Any]] = Field(description="scenario and overrides by name")
    statements: dict[str, list[MeasuredRow]] = Field(description="values of each row by id")
    runs: list[list[Any]] = Field(
        description="of each run the scenario's name, variant, repetition, seed, verdict, digest "
        "and, in newer summaries, the experiment's name"
    )
