"""The comparison of runs, and of variants over their repetitions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from orchestrator.recording.model import Verdict
from results.contract.base import Number, ResponseModel, Variant, Versioned
from results.contract.experiments import Contrast, Estimate, LeftOut
from results.records.model import Status


class ComparedRun(ResponseModel):
    """One of the runs."""

    id: str
    experiment: str
    scenario: str
    variant: Variant
    repetition: int
    seed: int
    status: Status
    digest: str | None
    digest_version: int
    link_model: int
    verdict: Verdict | None


class ComparedMetric(ResponseModel):
    """A metric of the runs, in their order; null where a run has none."""

    name: str
    unit: str
    values: list[Number]
    differences: list[Number] = Field(description="from the first run")
    ratios: list[Number] = Field(description="to the first run")


class ComparedSubject(ResponseModel):
    """A flow or a link of the runs."""

    name: str
    metrics: list[ComparedMetric]


class Differing(ResponseModel):
    """Something that is not the same in all runs."""

    path: str
    values: list[Any] = Field(description="of the runs, in their order")


class Differs(ResponseModel):
    """What is not the same in all runs."""

    run: list[Differing]
    scenario: list[Differing]
    provenance: list[Differing]
    checks: list[Differing]


class ComparedVariant(ResponseModel):
    """A variant of the comparison over repetitions."""

    name: str = Field(description="in what it differs from the others")
    experiment: str = Field(description="`NAME@HASH`")
    variant: Variant
    runs: list[str] = Field(description="ids of the runs that count")
    left_out: LeftOut


class VariantValues(ResponseModel):
    """A metric of the variants, in their order; of the run where flow and link are null."""

    flow: str | None
    link: str | None
    metric: str
    unit: str
    means: list[Estimate | None]
    differences: list[Contrast | None] = Field(description="to the first variant")


class ComparedVariants(ResponseModel):
    """Variants over their repetitions."""

    variants: list[ComparedVariant]
    values: list[VariantValues]


class Comparison(Versioned):
    """A comparison, as `orchestrator compare --json` prints it."""

    runs: list[ComparedRun]
    metrics: list[ComparedMetric]
    windows: dict[str, list[ComparedMetric]] = Field(description="by the name of the window")
    flows: list[ComparedSubject]
    links: list[ComparedSubject]
    differs: Differs
    variants: ComparedVariants | None = Field(
        description="null: there is one variant, or none has two runs that count"
    )
