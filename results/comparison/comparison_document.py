"""The JSON document of a comparison, by the models of the contract.

In SI units. Of variants it is::

    {"variants": [{"name", "experiment", "variant", "runs": [ID],
                   "left_out": {"unfaithful", "failed", "identical"}}],
     "values": [{"flow", "link", "metric", "unit",
                 "means": [{"mean", "low", "high", "sd", "n", "of", "flows_n", "flows_of",
                            "finished"} or null],
                 "differences": [{"mean", "low", "high", "p", "p_holm", "effect", "method",
                                  "paired_n", "a_n", "b_n", "low_family", "high_family",
                                  "p_family", "family_n", "label"} or null]}]}

``name`` says in what a variant differs from the others. ``means`` and ``differences`` have one
entry a variant. Differences are against the first variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from results.comparison.runs import (
    Differences,
    DifferingCheck,
    DifferingValue,
    MetricComparison,
    RunComparison,
    SubjectComparison,
)
from results.comparison.variants import ComparedMetric, ComparedVariant, VariantComparison
from results.contract import comparisons as contract
from results.contract import experiments
from results.contract.base import SCHEMA
from results.documents import run_document
from results.experiment.model import Comparison, MeanSummary
from results.experiment.summary_document import left_out_of
from results.records.model import RunRow


def document(compared: RunComparison, variants: VariantComparison | None) -> dict[str, Any]:
    """Return the JSON contract of runs, and of the variants that they are of."""
    return contract.Comparison.model_construct(
        schema_=SCHEMA,
        runs=[_run(row) for row in compared.rows],
        metrics=_metrics(compared.metrics),
        windows={name: _metrics(metrics) for name, metrics in compared.windows.items()},
        flows=[_subject(subject) for subject in compared.flows],
        links=[_subject(subject) for subject in compared.links],
        differs=_differs(compared.differs),
        variants=None if variants is None else _variants(variants),
    ).document()


def _run(row: RunRow) -> contract.ComparedRun:
    return contract.ComparedRun.model_construct(
        id=row.id,
        experiment=row.experiment,
        scenario=row.scenario,
        variant=dict(row.variant),
        repetition=row.repetition,
        seed=row.seed,
        status=row.status,
        digest=row.digest,
        digest_version=row.digest_version,
        link_model=row.link_model,
        verdict=row.verdict,
    )


def _metrics(metrics: Sequence[MetricComparison]) -> list[contract.ComparedMetric]:
    return [
        contract.ComparedMetric.model_construct(
            name=metric.name,
            unit=metric.unit,
            values=list(metric.values),
            differences=list(metric.differences),
            ratios=list(metric.ratios),
        )
        for metric in metrics
    ]


def _subject(subject: SubjectComparison) -> contract.ComparedSubject:
    return contract.ComparedSubject.model_construct(
        name=subject.name, metrics=_metrics(subject.metrics)
    )


def _differs(differs: Differences) -> contract.Differs:
    return contract.Differs.model_construct(
        run=[_differing(value) for value in differs.run],
        scenario=[_differing(value) for value in differs.scenario],
        provenance=[_differing(value) for value in differs.provenance],
        checks=[_checks(check) for check in differs.checks],
    )


def _differing(value: DifferingValue) -> contract.Differing:
    return contract.Differing.model_construct(path=value.path, values=list(value.values))


def _checks(differing: DifferingCheck) -> contract.Differing:
    values = [None if check is None else run_document.check(check) for check in differing.checks]
    return contract.Differing.model_construct(path=differing.name, values=values)


def _variants(compared: VariantComparison) -> contract.ComparedVariants:
    return contract.ComparedVariants.model_construct(
        variants=[_variant(variant) for variant in compared.variants],
        values=[_values(metric) for metric in compared.values],
    )


def _variant(variant: ComparedVariant) -> contract.ComparedVariant:
    return contract.ComparedVariant.model_construct(
        name=variant.name,
        experiment=variant.experiment,
        variant=dict(variant.variant),
        runs=list(variant.runs),
        left_out=left_out_of(variant.left_out),
    )


def _values(metric: ComparedMetric) -> contract.VariantValues:
    return contract.VariantValues.model_construct(
        flow=metric.flow,
        link=metric.link,
        metric=metric.metric,
        unit=metric.unit,
        means=[None if mean is None else _mean(mean) for mean in metric.means],
        differences=[
            None if difference is None else _contrast(difference)
            for difference in metric.differences
        ],
    )


def _mean(mean: MeanSummary) -> experiments.Estimate:
    return experiments.Estimate.model_construct(**vars(mean))


def _contrast(difference: Comparison) -> experiments.Contrast:
    """Return a difference without what it is of, which its line and the variants have."""
    values = vars(difference)
    return experiments.Contrast.model_construct(
        **{name: values[name] for name in experiments.Contrast.model_fields}
    )
