"""What became of the runs of a command: `run`, its suites of several files, and `judge`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.recording.model import Verdict
from results.contract.base import Number, ResponseModel, Variant, Versioned
from results.contract.runs import Check, RunDocument


class Expectation(ResponseModel):
    """What an expectation finds in a variant."""

    expectation: str = Field(description="its text")
    metric: str
    flow: str | None = Field(description="flow entry; null: a metric of the run")
    variant: Variant
    over: Literal["mean", "every"]
    mean: Number = Field(description="of the value, or of its difference from the other flow's")
    low: Number
    high: Number
    n: int = Field(description="number of runs with a value")
    met: bool
    reason: str | None = Field(description="why it is not met")


class CrateRun(ResponseModel):
    """A run of a crate that was made again."""

    crate_run: str = Field(description="its id in the crate")
    run: str = Field(description="id of the new run")
    digest: str | None = Field(description="that in the crate")
    same: bool = Field(description="whether the new digest is equal")


class Crate(ResponseModel):
    """Which runs of a crate are bit-identical when they are made again."""

    path: str
    runs: int
    bit_identical: int
    compared: list[CrateRun]


class Outcome(Versioned):
    """The runs of a scenario, a verification or a crate, as `orchestrator run --json` prints it."""

    experiment: str | None = Field(description="null: those of the runs differ")
    scenario: str | None = Field(description="null: those of the runs differ")
    runs: list[RunDocument]
    expectations: list[Expectation] | None = Field(
        default=None, description="if the scenario has any"
    )
    crate: Crate | None = Field(default=None, description="if a crate was run")
    file: str | None = Field(default=None, description="of one file of several")
    exit_status: int | None = Field(default=None, description="of one file of several")
    error: str | None = Field(
        default=None, description="of one file of several: why it could not be run"
    )


class Suite(Versioned):
    """The outcomes of several files, as `orchestrator run --json` prints them."""

    exit_status: int
    scenarios: list[Outcome]


class EarlierVerdict(ResponseModel):
    """The verdict that a run had."""

    verdict: Verdict
    checks_version: str | None


class CheckChange(ResponseModel):
    """A check that differs; null where it was not made."""

    check: str = Field(description="name")
    old: Check | None
    new: Check | None


class JudgedRun(ResponseModel):
    """A stored run that was judged again; one that could not be has its id and the error only."""

    id: str
    same: bool | None = Field(default=None, description="whether verdict and checks are equal")
    verdict: Verdict | None = Field(default=None)
    checks_version: str | None = Field(default=None)
    earlier: EarlierVerdict | None = Field(default=None)
    changes: list[CheckChange] | None = Field(default=None)
    error: str | None = Field(description="why it could not be judged")


class Judged(Versioned):
    """Runs that were judged again, as `orchestrator judge --json` prints them."""

    runs: list[JudgedRun] = Field(description="those with a new judgement first")
