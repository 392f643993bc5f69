"""The summary of an experiment: means with intervals, differences, crossings.

The JSON contract, in SI units::

    {"schema": 1, "experiment": NAME, "identity": HASH, "window": NAME or null,
     "axes": [{"path", "label", "unit", "values", "numbers"}],
     "rows": [{"variant", "flow", "link", "n", "left_out": {"unfaithful", "failed", "identical"},
       "metrics": {NAME: {"mean", "low", "high", "sd", "n", "drifting", "rise", "steady_from_s",
                          "rule", "median", "quantiles", "values", "runs"}}}],
     "differences": [{"variant", "axis", "flow", "a", "b", "metric", "mean", "low", "high", "p",
                      "p_holm", "effect", "method", "paired_n", "a_n", "b_n"}],
     "crossings": [{"variant", "axis", "a", "b", "metric", "mean", "low", "high", "n", "of"}]}

Rows without a flow and a link are of the whole run. Intervals are of 95% (see
``results.statistics``). ``rise`` is the change of a metric over its window, as a share of its mean.
``quantiles`` are those that were asked for: "share", "value", "low", "high", "n".

A difference is ``b - a``: of two flow entries of the same runs, or of two variants that differ in
one axis. Values are paired by seed. Variants without a common seed are independent samples, and
``method`` is "welch", not "paired". Holm's correction is over all differences of a metric.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from orchestrator.errors import UsageError
from results.axes import Axis, key, named, order, shown
from results.crossings import crossing
from results.documents import SCHEMA, json_ready
from results.experiments import Experiment
from results.model import WHOLE
from results.observations import Observation, ValueSelection, VariantValues, observe
from results.statistics import bootstrap, drift, stein
from results.statistics.differences import holm, paired, welch
from results.statistics.estimates import Estimate, estimate
from results.store import Store
from results.values import Subject

DEFAULT_METRIC = "goodput_bps"
"""The metric of differences, where none is asked for."""

MOST_PAIRED = 6
"""Most flow entries, or values of an axis, of which all pairs are compared.

Of more, each is compared with the first.
"""


def summarise(
    store: Store,
    experiment: Experiment,
    wanted: ValueSelection,
    by: Sequence[str] = (),
    quantiles: Sequence[float] = (),
    medians: bool = True,
) -> dict[str, Any]:
    """Return the summary. ``by`` names axes between whose values differences are taken.

    ``quantiles`` are the shares of which each metric has a quantile over repetitions. Without
    ``medians`` the median of each metric is None.

    Without any, differences between variants are taken along the axes whose values are no numbers.
    Rows are in the order of these axes first.

    Raises:
        UsageError: there is no such metric, window, axis or flow entry, a condition is not valid,
            or no variant fits.
    """
    groups, axes = observe(store, experiment, wanted)
    if wanted.where and not groups:
        raise UsageError(f"no variant of {experiment.name} fits {' and '.join(wanted.where)}")
    along = [named(label, axes) for label in by] or [axis for axis in axes if axis.numbers is None]
    names = list(wanted.metrics) or [DEFAULT_METRIC]
    differences = [*_between_flows(groups, names), *_between_variants(groups, names, along)]
    set_p_holm((each["metric"], each) for each in differences)
    groups = _ordered(groups, [axis for axis in along if by])
    rules = _rule(experiment, wanted)
    document = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "identity": experiment.identity,
        "window": wanted.window or None,
        "axes": [_axis(axis) for axis in axes],
        "rows": [row for group in groups for row in _rows(group, rules, quantiles, medians)],
        "differences": differences,
        "crossings": list(_crossings(groups, axes, names)),
    }
    found: dict[str, Any] = json_ready(document)
    return found


def _ordered(groups: Sequence[VariantValues], first: Sequence[Axis]) -> list[VariantValues]:
    rank = order(first)
    return sorted(groups, key=lambda group: rank(group.variant))


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "path": axis.path,
        "label": axis.label,
        "unit": axis.unit,
        "values": list(axis.values),
        "numbers": None if axis.numbers is None else list(axis.numbers),
    }


RuleOf = Mapping[tuple[str | None, str], stein.Rule]
"""Rules by the flow entry (None for the run) and metric that they look at."""


def _rule(experiment: Experiment, wanted: ValueSelection) -> RuleOf:
    """Return the rule that decided the number of repetitions, if it is of these values."""
    rule = experiment.newest.repetition_rule
    if rule is None or (rule.get("window") or WHOLE) != wanted.window or wanted.flows:
        return {}
    found = stein.Rule(rule["interval"], rule["least"], rule["most"])
    return {(rule.get("flow"), rule["metric"]): found}


def _rows(
    group: VariantValues, rules: RuleOf, quantiles: Sequence[float], medians: bool
) -> Iterator[dict[str, Any]]:
    subjects = list(dict.fromkeys(subject for subject, _name in group.values)) or [Subject()]
    for subject in subjects:
        metrics = {
            name: _metric(group, subject, name, _rule_of(rules, subject, name), medians)
            | {"quantiles": list(_quantiles(group.values[subject, name], quantiles))}
            for of, name in group.values
            if of == subject
        }
        yield {
            "variant": dict(group.variant),
            "flow": subject.flow,
            "link": subject.link,
            "n": len(group.runs),
            "left_out": group.left_out.numbers,
            "metrics": metrics,
        }


def _rule_of(rules: RuleOf, subject: Subject, name: str) -> stein.Rule | None:
    return None if subject.link is not None else rules.get((subject.flow, name))


def _metric(
    group: VariantValues, subject: Subject, name: str, rule: stein.Rule | None, medians: bool
) -> dict[str, Any]:
    observations = group.values[subject, name]
    values = [each.value for each in observations]
    found = _estimate(values, rule)
    middle = bootstrap.quantile(values, 0.5) if medians else None
    parts = [each.parts for each in observations if each.parts]
    return {
        **(asdict(found) if found is not None else {}),
        "drifting": drift.drifting(parts) if parts else None,
        "rise": drift.rise(parts),
        "steady_from_s": _steady_from_s(group, observations),
        "median": None if middle is None else asdict(middle),
        "values": values,
        "runs": [each.run for each in observations],
    }


def _quantiles(
    observations: Sequence[Observation], shares: Sequence[float]
) -> Iterator[dict[str, Any]]:
    for share in shares:
        found = bootstrap.quantile([each.value for each in observations], share)
        if found is not None:
            yield {"share": share, **asdict(found)}


def _steady_from_s(group: VariantValues, observations: Sequence[Observation]) -> float | None:
    """Return from when on the metric is steady, the median over runs; None without series."""
    known = [
        each
        for each in observations
        if each.from_start and all(math.isfinite(value) for value in each.from_start)
    ]
    duration_s = {row.id: row.duration_s for row in group.runs} if known else {}
    found = [
        drift.steady_from(each.from_start) / len(each.from_start) * duration_s[each.run]
        for each in known
    ]
    return statistics.median(found) if found else None


def _estimate(values: Sequence[float], rule: stein.Rule | None) -> Estimate | None:
    found = stein.stein(values, rule) if rule is not None else None
    return found or estimate(values)


def _between_flows(
    groups: Sequence[VariantValues], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the differences between the flow entries of each variant."""
    for group in groups:
        for name in names:
            entries = [one for one, metric in group.values if one.flow and metric == name]
            for a, b in _pairs(entries):
                yield {
                    "variant": dict(group.variant),
                    "axis": None,
                    "flow": None,
                    "a": a.flow,
                    "b": b.flow,
                    "metric": name,
                    **difference(group.values[a, name], group.values[b, name]),
                }


def _between_variants(
    groups: Sequence[VariantValues], names: Sequence[str], along: Sequence[Axis]
) -> Iterator[dict[str, Any]]:
    """Yield the differences between variants that are equal but for one of the axes."""
    for axis in along:
        for others, compared in _differing_only_in(groups, axis):
            for first, second in _pairs(compared):
                a, b = (shown(each.variant[axis.path]) for each in (first, second))
                for subject, name in first.values:
                    if name in names and (subject, name) in second.values:
                        of = (first.values[subject, name], second.values[subject, name])
                        yield {
                            "variant": others, "axis": axis.path, "flow": subject.flow,
                            "a": a, "b": b, "metric": name, **difference(*of),
                        }  # fmt: skip


def _differing_only_in(
    groups: Sequence[VariantValues], axis: Axis
) -> list[tuple[dict[str, Any], list[VariantValues]]]:
    """Return the groups that differ in an axis only, by their values on the other axes."""
    found: dict[str, tuple[dict[str, Any], list[VariantValues]]] = {}
    for group in groups:
        if axis.path in group.variant:
            others = {path: value for path, value in group.variant.items() if path != axis.path}
            found.setdefault(key(others), (others, []))[1].append(group)
    return list(found.values())


def _pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    if len(items) <= MOST_PAIRED:
        return list(combinations(items, 2))
    return [(items[0], other) for other in items[1:]]


def difference(a: Sequence[Observation], b: Sequence[Observation]) -> dict[str, Any]:
    """Return the difference of two series: paired by seed if they have a common one."""
    others = {each.seed: each.value for each in b}
    pairs = [(each.value, others[each.seed]) for each in a if each.seed in others]
    if pairs:
        found = paired([first for first, _ in pairs], [second for _, second in pairs])
    else:
        found = welch([each.value for each in a], [each.value for each in b])
    if found is None:
        raise AssertionError("a series without values is no series")
    return {
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "p_holm": None,
        "effect": found.effect,
        "method": found.method,
        "paired_n": found.n,
        "a_n": len(a),
        "b_n": len(b),
    }


def set_p_holm(differences: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Set ``p_holm`` of all (metric, difference), corrected over those of the same metric."""
    families: dict[str, list[dict[str, Any]]] = {}
    for metric, each in differences:
        families.setdefault(metric, []).append(each)
    for family in families.values():
        for each, corrected in zip(family, holm([one["p"] for one in family]), strict=True):
            each["p_holm"] = corrected


def _crossings(
    groups: Sequence[VariantValues], axes: Sequence[Axis], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield where on an axis of numbers one flow entry overtakes another."""
    for axis in axes:
        if axis.numbers is None or len(axis.numbers) < 2:
            continue
        for others, compared in _differing_only_in(groups, axis):
            for name in names:
                entries = list(
                    dict.fromkeys(
                        subject
                        for group in compared
                        for subject, metric in group.values
                        if subject.flow and metric == name
                    )
                )
                for a, b in _pairs(entries):
                    found = crossing(axis, _by_value(compared, axis, name, a, b))
                    if found is not None:
                        yield {
                            "variant": others, "axis": axis.path, "a": a.flow, "b": b.flow,
                            "metric": name, **found,
                        }  # fmt: skip


def _by_value(
    compared: Sequence[VariantValues], axis: Axis, name: str, a: Subject, b: Subject
) -> dict[int, dict[str, float]]:
    """Return ``b - a`` by repetition and by value of the axis.

    Repetitions are told apart by their seeds, and by their numbers if variants have no common seed.
    """
    seeds = [{each.seed for each in group.values.get((a, name), ())} for group in compared]
    common = len(set().union(*seeds)) < sum(map(len, seeds))
    found: dict[int, dict[str, float]] = {}
    for group in compared:
        first = {each.seed: each.value for each in group.values.get((a, name), ())}
        value = key(group.variant[axis.path])
        for each in group.values.get((b, name), ()):
            if each.seed in first:
                place = found.setdefault(each.seed if common else each.repetition, {})
                place[value] = each.value - first[each.seed]
    return found
