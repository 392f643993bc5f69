"""Compares variants over their repetitions: means with intervals, and differences.

The JSON contract, in SI units::

    {"variants": [{"name", "experiment", "variant", "runs": [ID],
                   "left_out": {"unfaithful", "failed", "identical"}}],
     "values": [{"flow", "link", "metric", "unit",
                 "means": [{"mean", "low", "high", "sd", "n"} or null],
                 "differences": [{"mean", "low", "high", "p", "p_holm", "effect", "method",
                                  "paired_n", "a_n", "b_n"} or null]}]}

``name`` says in what a variant differs from the others. ``means`` and ``differences`` have one
entry a variant. Differences are against the first variant.
Runs count, and differences are made, as in ``results.summary``. Holm's correction is over all
differences of a metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from results.axes import axes, key, shown
from results.documents import plain
from results.experiments import Experiment, experiments
from results.metrics import METRICS, Metric, columns_of, of_scope
from results.metrics.base import Scope, Table
from results.observations import Group, Wanted, observe
from results.statistics.differences import holm
from results.statistics.estimates import estimate
from results.store import Store
from results.stored import StoredRun
from results.summary import difference


def compare_variants(store: Store, runs: Sequence[StoredRun]) -> dict[str, Any] | None:
    """Return the comparison of the variants that the runs are of, as JSON-ready data.

    None if there is one variant, or if no variant has two runs that count.
    """
    found = _groups(store, runs)
    if len(found) < 2 or max(len(group.runs) for _label, group in found) < 2:
        return None
    groups = [group for _label, group in found]
    values = list(_values(groups))
    _correct(values)
    document = {
        "variants": [
            {
                "name": name,
                "experiment": label,
                "variant": dict(group.variant),
                "runs": [row.id for row in group.runs],
                "left_out": {
                    name: getattr(group, name) for name in ("unfaithful", "failed", "identical")
                },
            }
            for name, (label, group) in zip(_names(found), found, strict=True)
        ],
        "values": values,
    }
    made: dict[str, Any] = plain(document)
    return made


def _groups(store: Store, runs: Sequence[StoredRun]) -> list[tuple[str, Group]]:
    """Return the variants with the label of their experiment, in the order of the runs."""
    labels = {
        row.id: one.label
        for name in dict.fromkeys(run.row.experiment for run in runs)
        for one in experiments(store, name)
        for row in one.rows
    }
    chosen: dict[tuple[str, str], Experiment] = {}
    for run in runs:
        label = labels.get(run.id, run.row.experiment)
        place = (label, key(dict(run.row.variant)))
        chosen.setdefault(place, Experiment(run.row.experiment, ())).rows.append(run.row)
    metrics = tuple(dict.fromkeys(name for name, _scope in METRICS))
    found = []
    for (label, _variant), one in chosen.items():
        one.rows.sort(key=lambda row: (row.started_utc, row.id))
        (group,), _axes = observe(store, one, Wanted(metrics))
        found.append((label, group))
    return found


def _names(found: Sequence[tuple[str, Group]]) -> list[str]:
    """Return what tells each variant from the others: values on axes, and the experiment."""
    variants = [dict(group.variant) for _label, group in found]
    varying = [
        axis
        for axis in axes(variants)
        if len({key(variant.get(axis.path)) for variant in variants}) > 1
    ]
    values = [
        ", ".join(
            f"{axis.label}={shown(variant[axis.path])}" for axis in varying if axis.path in variant
        )
        for variant in variants
    ]
    labels = [label for label, _group in found]
    short = [label.partition("@")[0] for label in labels]
    for experiment in ([""] * len(found), short, labels):
        names = [", ".join(filter(None, each)) for each in zip(experiment, values, strict=True)]
        if len(set(names)) == len(names) and all(names):
            break
    return names


def _values(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    there = {place for group in groups for place in group.values}
    subjects = list(dict.fromkeys(subject for group in groups for subject, _name in group.values))
    for subject in sorted(subjects, key=lambda one: ("run", "flow", "link").index(one.scope)):
        for name, one in _metrics(subject.scope).items():
            if (subject, name) in there:
                series = [group.values.get((subject, name), []) for group in groups]
                yield {
                    "flow": subject.flow,
                    "link": subject.link,
                    "metric": name,
                    "unit": one.unit,
                    "means": [_mean([each.value for each in values]) for values in series],
                    "differences": [
                        None,
                        *(
                            difference(series[0], values) if series[0] and values else None
                            for values in series[1:]
                        ),
                    ],
                }


_TABLES: Mapping[Scope, Table] = {"run": "run", "flow": "tcp", "link": "link"}


def _metrics(scope: Scope) -> dict[str, Metric]:
    """Return the metrics of a scope by name, those of the short tables first."""
    short = [one for _column, one in columns_of(_TABLES[scope])]
    return {one.name: one for one in (*short, *of_scope(scope))}


def _mean(values: Sequence[float]) -> dict[str, Any] | None:
    found = estimate(values)
    return None if found is None else asdict(found)


def _correct(values: Sequence[Mapping[str, Any]]) -> None:
    """Set ``p_holm`` of all differences, over those of the same metric."""
    for metric in {line["metric"] for line in values}:
        family = [
            each
            for line in values
            if line["metric"] == metric
            for each in line["differences"]
            if each is not None
        ]
        for each, corrected in zip(family, holm([one["p"] for one in family]), strict=True):
            each["p_holm"] = corrected
