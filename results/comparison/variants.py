"""Compares variants over their repetitions: means with intervals, and differences.

Runs count as in ``results.experiment.summary``. All differences of a metric are a family of
:mod:`results.experiment.contrasts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from results.experiment import coverage
from results.experiment.contrasts import ComparedSides, Contrast, contrast, judge
from results.experiment.experiments import Experiment, experiments, of_rows
from results.experiment.left_out import LeftOut
from results.experiment.model import Comparison, MeanSummary
from results.experiment.observations import (
    Observation,
    Series,
    ValueSelection,
    VariantValues,
    observe,
)
from results.matrix import naming
from results.matrix.axes import key
from results.metrics import METRICS, Metric, columns_of, is_extracted, of_values
from results.metrics.base import Scope, Table
from results.records.model import RunRow, Variant
from results.statistics.estimates import estimate
from results.store.store import Store


@dataclass(frozen=True)
class ComparedVariant:
    """A variant: its name among the others, its runs that count, and how many are left out."""

    name: str
    experiment: str
    variant: Variant
    runs: Sequence[str]
    left_out: LeftOut


@dataclass(frozen=True)
class ComparedMetric:
    """A metric of a flow entry, a link or the whole run, with an entry for each variant.

    ``differences`` are those to the first variant.
    """

    flow: str | None
    link: str | None
    metric: str
    unit: str
    means: Sequence[MeanSummary | None]
    differences: Sequence[Comparison | None]

    @property
    def subject(self) -> str:
        """What it is of, in words."""
        return self.flow or self.link or "run"

    @property
    def scope(self) -> Scope:
        """What the metric is of."""
        return "flow" if self.flow else "link" if self.link else "run"


@dataclass(frozen=True)
class VariantComparison:
    """Variants over their repetitions."""

    variants: Sequence[ComparedVariant]
    values: Sequence[ComparedMetric]


def compare_variants(
    store: Store, rows: Sequence[RunRow], known: Sequence[Experiment] | None = None
) -> VariantComparison | None:
    """Return the comparison of the variants that the runs are of.

    None if there is one variant, or if no variant has two runs that count. ``known`` are the
    store's experiments of the runs' names, if they were read already.
    """
    if known is None:
        of = dict.fromkeys(row.experiment for row in rows)
        known = [experiment for name in of for experiment in experiments(store, name)]
    found = _groups(store, rows, known)
    groups = [group for _label, group in found]
    if len(groups) < 2 or max(len(group.runs) for group in groups) < 2:
        return None
    labels, variants = [label for label, _group in found], [group.variant for group in groups]
    names = naming.of_variants(labels, variants)
    return VariantComparison(
        [
            ComparedVariant(
                name, label, group.variant, [row.id for row in group.runs], group.left_out
            )
            for name, label, group in zip(names, labels, groups, strict=True)
        ],
        list(_values(groups, names)),
    )


def _groups(
    store: Store, rows: Sequence[RunRow], known: Sequence[Experiment]
) -> list[tuple[str, VariantValues]]:
    """Return the variants with the label of their experiment, in the order of the runs."""
    labels = {row.id: one.label for one in known for row in one.rows}
    chosen: dict[tuple[str, str], list[RunRow]] = {}
    for row in rows:
        label = labels.get(row.id, row.experiment)
        chosen.setdefault((label, key(dict(row.variant))), []).append(row)
    metrics = tuple(dict.fromkeys(name for name, _scope in METRICS))
    groups = []
    for (label, _variant), of_variant in chosen.items():
        oldest_first = sorted(of_variant, key=lambda row: (row.started_utc, row.id))
        experiment = of_rows(of_variant[0].experiment, oldest_first)
        extracted = store.extracted_metrics(oldest_first)
        (group,), _axes = observe(store, experiment, ValueSelection((*metrics, *extracted)))
        groups.append((label, group))
    return groups


def _values(groups: Sequence[VariantValues], names: Sequence[str]) -> Iterator[ComparedMetric]:
    there = {place for group in groups for place in group.values}
    subjects = list(dict.fromkeys(subject for group in groups for subject, _name in group.values))
    families: dict[str, list[Contrast]] = {}
    lines = []
    extracted = sorted({name for _subject, name in there if is_extracted(name)})
    for subject in sorted(subjects, key=lambda one: ("run", "flow", "link").index(one.scope)):
        for name, one in _metrics(subject.scope, extracted).items():
            if (subject, name) in there:
                series = [group.values.get((subject, name), []) for group in groups]
                found = _to_the_first(series, names, name)
                families.setdefault(name, []).extend(each for each in found if each is not None)
                lines.append((subject, one, found))
    judged = {name: iter(judge(family)) for name, family in families.items()}
    for subject, one, found in lines:
        yield ComparedMetric(
            subject.flow,
            subject.link,
            one.name,
            one.unit,
            [_mean(group, (subject, one.name)) for group in groups],
            [None if each is None else next(judged[one.name]) for each in found],
        )


def _to_the_first(
    series: Sequence[Sequence[Observation]], names: Sequence[str], metric: str
) -> list[Contrast | None]:
    """Return the difference of each series to the first, and None for the first itself."""
    first = series[0]
    return [
        None,
        *(
            contrast(first, values, ComparedSides(names[0], name, metric))
            if first and values
            else None
            for name, values in zip(names[1:], series[1:], strict=True)
        ),
    ]


_TABLES: Mapping[Scope, Table] = {"run": "run", "flow": "tcp", "link": "link"}


def _metrics(scope: Scope, extracted: Sequence[str]) -> dict[str, Metric]:
    """Return the metrics of a scope by name, those of the short tables first."""
    short = [metric for _column, metric in columns_of(_TABLES[scope])]
    every = of_values(scope, [dict.fromkeys(extracted)])
    return {metric.name: metric for metric in (*short, *every)}


def _mean(group: VariantValues, series: Series) -> MeanSummary | None:
    interval = estimate([value.value for value in group.values.get(series, ())])
    if interval is None:
        return None
    return coverage.mean_summary(interval, len(group.runs), group.coverage[series])
