"""The report card of a congestion control, and what making it would cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Variant, Versioned
from results.contract.experiments import LeftOut
from results.contract.plans import EstimateOrigin

Grade = Literal["meets", "meets with limits", "does not meet", "not decided", "not applicable"]
Length = Literal["quick", "full"]


class CriterionSource(ResponseModel):
    """Where a document asks for a criterion."""

    title: str = Field(description="of the document")
    section: str
    says: str


class MeasuredControl(ResponseModel):
    """What a congestion control gave in a cell, in the metric's unit."""

    control: str
    mean: Number
    low: Number = Field(description="lower end of the 95% confidence interval")
    high: Number = Field(description="upper end of the 95% confidence interval")
    n: int = Field(description="runs that have a value")
    runs: list[str] = Field(description="ids of the runs that count")
    left_out: LeftOut


class CardCell(ResponseModel):
    """A row in one variant of the scenario, beside one reference where there is one."""

    variant: Variant
    beside: str | None = Field(description="the reference; null: none runs beside the candidate")
    verdict: Grade
    reason: str | None = Field(description="why it is not decided, or not met by no value")
    candidate: MeasuredControl
    baseline: str | None = Field(description="the control that the bound is a factor of")
    others: list[MeasuredControl] = Field(description="other controls in the candidate's place")
    command: str = Field(description="makes the candidate's runs of the cell, or finds them")


class CardRow(ResponseModel):
    """One thing that a criterion asks for."""

    id: str
    asks: str
    metric: str
    unit: str
    flow: str | None = Field(description="flow entry; null: the run")
    window: str | None
    relation: Literal["at least", "at most"]
    of: str | None = Field(description="the control that `bound` is a factor of")
    bound: float
    limit: float = Field(description="beyond this the row is not met")
    allowance: float
    level: Literal["must", "should"]
    reason: str = Field(description="why the bound and the limit are what they are")
    cells: list[CardCell]


class CardBuild(ResponseModel):
    """The build of the candidate's module on a kernel."""

    kernel: str = Field(description="its release")
    verdict: Grade
    messages: list[str] = Field(description="warnings, or why it does not compile")


class CardCriterion(ResponseModel):
    """A criterion with its grade."""

    name: str
    title: str
    asks: str
    grade: Grade
    why: str = Field(description="what decides the grade")
    explained: str | None = Field(
        default=None,
        description="what `explain` tells of a run of the cell that decides, where it is not met",
    )
    sources: list[CriterionSource]
    left_out: str | None = Field(description="what this length does not run")
    rows: list[CardRow]
    builds: list[CardBuild] = Field(
        default_factory=list, description="of the candidate's module, where its code is asked"
    )
    scenarios: list[str] = Field(description="files below the card's folder")
    command: str = Field(description="makes this part of the card again")
    fingerprint: str | None = Field(
        default=None,
        description="hash of what the criterion runs and asks; null: an earlier version made it",
    )


class ChangedGrade(ResponseModel):
    """A criterion whose grade is not that of the baseline."""

    name: str
    before: Grade
    after: Grade


class ChangedCell(ResponseModel):
    """A cell whose verdict is not that of the baseline, or whose interval is apart from its own."""

    criterion: str
    row: str
    metric: str
    unit: str
    variant: Variant
    beside: str | None
    before: Grade
    after: Grade
    apart: bool = Field(description="the 95% intervals have no value in common")
    mean_before: Number
    low_before: Number
    high_before: Number
    mean_after: Number
    low_after: Number
    high_after: Number


class CardChanges(ResponseModel):
    """What differs from a baseline's card, by the criteria and cells that both have."""

    baseline: str
    module_sha256: str | None = Field(description="of the baseline's sources")
    kernels: list[str] = Field(description="of the baseline's runs")
    digest: str = Field(description="of the baseline's card")
    compared: int = Field(description="cells that both cards have")
    only_before: list[str] = Field(description="criteria of the baseline's card alone")
    only_after: list[str] = Field(description="criteria of this card alone")
    grades: list[ChangedGrade]
    cells: list[ChangedCell]


class Card(Versioned):
    """The report card, as `evaluate --json` prints it and `card.json` has it."""

    candidate: str
    module_sha256: str | None = Field(description="of the sources of a user's module")
    against: list[str]
    length: Length
    kernels: list[str] = Field(description="releases of the kernels of the runs")
    digest: str = Field(description="SHA-256 over the digests of all runs, in the card's order")
    runs: int
    failed: int = Field(description="runs that failed")
    unfaithful: int
    criteria: list[CardCriterion]
    changes: CardChanges | None = Field(
        default=None, description="from the card of `--baseline`; null without one"
    )


class ReferenceCard(ResponseModel):
    """A card of the library in short."""

    name: str = Field(description="control and kernel, such as `cubic-6.12`")
    candidate: str
    length: Length
    kernels: list[str] = Field(description="releases of the kernels of the runs")
    runs: int
    unfaithful: int
    digest: str = Field(description="SHA-256 over the digests of all runs, in the card's order")
    grades: dict[str, Grade] = Field(description="by criterion")
    outdated: list[str] = Field(description="criteria that run or ask something else by now")


class CardLibrary(Versioned):
    """The reference cards, as `evaluate --library --json` prints them."""

    cards: list[ReferenceCard]


class MatrixCell(ResponseModel):
    """What an incumbent has beside a newcomer, in the metric's unit."""

    variant: Variant
    newcomer: str
    incumbent: str
    mean: Number
    low: Number = Field(description="lower end of the 95% confidence interval")
    high: Number = Field(description="upper end of the 95% confidence interval")
    n: int = Field(description="runs that have a value")
    runs: list[str]
    change: Number = Field(
        description="mean difference from the incumbent beside itself, in the runs of the same "
        "seeds, as a share of what it has there; null where both are the same control"
    )
    change_low: Number
    change_high: Number
    verdict: Grade | None = Field(description="by the bounds of the criterion `harm`")


class MatrixMetric(ResponseModel):
    """The cells of a metric."""

    metric: str
    unit: str
    harm_is: Literal["less", "more"] = Field(description="the direction of a change that harms")
    cells: list[MatrixCell]


class HarmMatrix(Versioned):
    """What each control does to each other one, as `evaluate --matrix --json` prints it."""

    version: str = Field(description="of this program")
    controls: list[str]
    length: Length
    kernels: list[str] = Field(description="releases of the kernels of the runs")
    digest: str = Field(description="SHA-256 over the digests of all runs, in their order")
    runs: int
    failed: int
    unfaithful: int
    metrics: list[MatrixMetric]
    scenarios: list[str] = Field(description="files below the matrix's folder")
    command: str = Field(description="makes the matrix again")


class PlannedMatrix(Versioned):
    """What a matrix would cost, as `evaluate --matrix --plan --json` prints it."""

    controls: list[str]
    length: Length
    pairs: int = Field(description="each control with each, itself too")
    runs: int
    missing: int = Field(description="runs that are not stored")
    hours: float = Field(description="estimated wall time of all runs, one at a time")
    hours_missing: float
    disk_bytes: int = Field(description="estimated size of the missing runs in the store")
    estimated_from: EstimateOrigin


class PlannedCriterion(ResponseModel):
    """The runs of a criterion, and what they would cost."""

    name: str
    runs: int
    missing: int = Field(description="runs that are not stored")
    minutes: float = Field(description="estimated wall time of all runs, one at a time")
    minutes_missing: float
    disk_bytes: int = Field(description="estimated size of the missing runs in the store")
    estimated_from: EstimateOrigin


class LackingCriterion(ResponseModel):
    """A criterion of which nothing is run, as the kernel cannot have it."""

    name: str
    lack: str = Field(description="what the kernel lacks, and which kernels have it")


class EvaluationPlan(Versioned):
    """What a report card would cost, as `evaluate --plan --json` prints it."""

    candidate: str
    length: Length
    criteria: list[PlannedCriterion]
    not_applicable: list[LackingCriterion] = Field(default_factory=list)
