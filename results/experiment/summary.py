"""The summary of an experiment: means with intervals, differences, crossings.

:mod:`results.experiment.summary_document` has its JSON, :mod:`results.experiment.contrasts` says
what differences are of and what they show.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.errors import UsageError
from results.experiment import coverage
from results.experiment.contrasts import (
    Question,
    contrasts,
    differing_only_in,
    pairs,
    questions,
)
from results.experiment.crossings import crossing
from results.experiment.experiments import Experiment
from results.experiment.model import (
    Crossing,
    MetricSummary,
    QuantileSummary,
    Summary,
    SummaryRow,
)
from results.experiment.observations import (
    Observation,
    Series,
    ValueSelection,
    VariantValues,
    observe,
)
from results.experiment.values import Subject
from results.matrix.axes import Axis, key, named, order
from results.metrics import is_extracted
from results.records.model import WHOLE
from results.statistics import bootstrap, drift, stein
from results.statistics.estimates import Estimate, estimate
from results.store.store import Store

DEFAULT_METRIC = "goodput_bps"
"""The metric of differences, where none is asked for."""


def summarise(
    store: Store,
    experiment: Experiment,
    selection: ValueSelection,
    by: Sequence[str] = (),
    quantiles: Sequence[float] = (),
    medians: bool = True,
    compare: Sequence[str] = (),
) -> Summary:
    """Return the summary. ``by`` names axes between whose values differences are taken.

    Rows are in the order of these axes first. Each of ``compare`` names flow entries, or values of
    one axis, with commas between; with ``by``, values of these axes. Without both, differences are
    those that :func:`results.experiment.contrasts.contrasts` takes. ``quantiles`` are the shares of
    which each metric has a quantile over repetitions. Without ``medians`` the median of each metric
    is None.

    Raises:
        UsageError: there is no such metric, window, axis, value or flow entry, a condition is not
            valid, or no variant fits.
    """
    groups, axes = observe(store, experiment, replace(selection, missing=bool(selection.metrics)))
    if selection.where and not groups:
        raise UsageError(f"no variant of {experiment.name} fits {' and '.join(selection.where)}")
    names = list(dict.fromkeys(selection.metrics)) or [DEFAULT_METRIC]
    asked_questions = questions(groups, axes, by, compare)
    differences = contrasts(groups, axes, names, asked_questions)
    along = [named(label, axes) for label in by]
    groups = _ordered(groups, along)
    compared = {difference.axis for difference in differences}
    rules = _rule(experiment, selection)
    there = {name for group in groups for (_of, name), values in group.values.items() if values}
    extracted = [name for group in groups for _of, name in group.values if is_extracted(name)]
    return Summary(
        experiment=experiment.name,
        identity=experiment.identity,
        window=selection.window or None,
        axes=axes,
        rows=[row for group in groups for row in _rows(group, rules, quantiles, medians)],
        without_values=[
            name for name in dict.fromkeys([*selection.metrics, *extracted]) if name not in there
        ],
        differences=differences,
        crossings=list(_crossings(groups, axes, names, asked_questions)),
        without_differences=[axis.label for axis in along if axis.path not in compared],
    )


def _ordered(groups: Sequence[VariantValues], first: Sequence[Axis]) -> list[VariantValues]:
    rank = order(first)
    return sorted(groups, key=lambda group: rank(group.variant))


RuleOf = Mapping[tuple[str | None, str], stein.StoppingRule]
"""Rules by the flow entry (None for the run) and metric that they look at."""


def _rule(experiment: Experiment, selection: ValueSelection) -> RuleOf:
    """Return the rule that decided the number of repetitions, if it is of these values."""
    rule = experiment.newest.repetition_rule
    if rule is None or (rule.window or WHOLE) != selection.window or selection.flows:
        return {}
    stopping_rule = stein.StoppingRule(rule.interval, rule.least, rule.most)
    return {(rule.flow, rule.metric): stopping_rule}


def _rows(
    group: VariantValues, rules: RuleOf, quantiles: Sequence[float], medians: bool
) -> Iterator[SummaryRow]:
    subjects = list(dict.fromkeys(subject for subject, _name in group.values)) or [Subject()]
    for subject in subjects:
        metrics = {
            name: _metric(
                group, (subject, name), _rule_of(rules, subject, name), medians, quantiles
            )
            for of, name in group.values
            if of == subject
        }
        yield SummaryRow(
            group.variant, subject.flow, subject.link, len(group.runs), group.left_out, metrics
        )


def _rule_of(rules: RuleOf, subject: Subject, name: str) -> stein.StoppingRule | None:
    return None if subject.link is not None else rules.get((subject.flow, name))


def _metric(
    group: VariantValues,
    series: Series,
    rule: stein.StoppingRule | None,
    medians: bool,
    quantiles: Sequence[float],
) -> MetricSummary:
    observations = group.values[series]
    values = [observation.value for observation in observations]
    mean = coverage.mean_summary(_estimate(values, rule), len(group.runs), group.coverage[series])
    parts = [observation.parts for observation in observations if observation.parts]
    return MetricSummary(
        **vars(mean),
        drifting=drift.drifting(parts) if parts else None,
        rise=drift.rise(parts),
        steady_from_s=_steady_from_s(group, observations),
        median=bootstrap.quantile(values, 0.5) if medians else None,
        values=values,
        runs=[observation.run for observation in observations],
        quantiles=list(_quantiles(values, quantiles)),
    )


def _quantiles(values: Sequence[float], shares: Sequence[float]) -> Iterator[QuantileSummary]:
    for share in shares:
        quantile = bootstrap.quantile(values, share)
        if quantile is not None:
            yield QuantileSummary(share, **vars(quantile))


def _steady_from_s(group: VariantValues, observations: Sequence[Observation]) -> float | None:
    """Return from when on the metric is steady, the median over runs; None without series."""
    known = [
        observation
        for observation in observations
        if observation.from_start and all(math.isfinite(value) for value in observation.from_start)
    ]
    duration_s = {row.id: row.duration_s for row in group.runs} if known else {}
    times_s = [
        drift.steady_from(observation.from_start)
        / len(observation.from_start)
        * duration_s[observation.run]
        for observation in known
    ]
    return statistics.median(times_s) if times_s else None


def _estimate(values: Sequence[float], rule: stein.StoppingRule | None) -> Estimate | None:
    sequential = stein.stein(values, rule) if rule is not None else None
    return sequential or estimate(values)


def _crossings(
    groups: Sequence[VariantValues],
    axes: Sequence[Axis],
    names: Sequence[str],
    asked_questions: Sequence[Question],
) -> Iterator[Crossing]:
    """Yield where on an axis of numbers one flow entry overtakes another.

    Where differences of named flow entries or values are asked for, it is of the flow entries named
    there alone: of none where only values of axes are named.
    """
    for axis in axes:
        if axis.numbers is None or len(axis.numbers) < 2:
            continue
        for others, compared in differing_only_in(groups, axis):
            for name in names:
                entries = list(
                    dict.fromkeys(
                        subject
                        for group in compared
                        for (subject, metric), values in group.values.items()
                        if subject.flow and metric == name and values
                    )
                )
                for a, b in _pairs(entries, asked_questions):
                    crossing_at = crossing(axis, _by_value(compared, axis, name, a, b))
                    if crossing_at is not None:
                        yield Crossing(
                            others, axis.path, str(a.flow), str(b.flow), name, *crossing_at
                        )


def _pairs(
    entries: Sequence[Subject], asked_questions: Sequence[Question]
) -> list[tuple[Subject, Subject]]:
    """Return the pairs of flow entries to compare, each once."""
    families = [list(entries)]
    if any(question.names for question in asked_questions):
        families = [
            [entry for entry in entries if not question.names or entry.flow in question.names]
            for question in asked_questions
            if question.along is None
        ]
    return list(dict.fromkeys(pair for family in families for pair in pairs(family)))


def _by_value(
    compared: Sequence[VariantValues], axis: Axis, name: str, a: Subject, b: Subject
) -> dict[int, dict[str, float]]:
    """Return ``b - a`` by repetition and by value of the axis.

    Repetitions are told apart by their seeds, and by their numbers if variants have no common seed.
    """
    seeds = [
        {observation.seed for observation in group.values.get((a, name), ())} for group in compared
    ]
    common = len(set().union(*seeds)) < sum(map(len, seeds))
    by_repetition: dict[int, dict[str, float]] = {}
    for group in compared:
        first = {
            observation.seed: observation.value for observation in group.values.get((a, name), ())
        }
        value = key(group.variant[axis.path])
        for observation in group.values.get((b, name), ()):
            if observation.seed in first:
                by_value = by_repetition.setdefault(
                    observation.seed if common else observation.repetition, {}
                )
                by_value[value] = observation.value - first[observation.seed]
    return by_repetition
