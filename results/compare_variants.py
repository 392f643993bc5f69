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

from results import naming
from results.axes import key
from results.documents import json_ready
from results.experiments import Experiment, experiments, of_rows
from results.metrics import METRICS, Metric, columns_of, of_scope
from results.metrics.base import Scope, Table
from results.model import RunRow
from results.observations import ValueSelection, VariantValues, observe
from results.statistics.estimates import estimate
from results.store import Store
from results.summary import difference, set_p_holm


def compare_variants(
    store: Store, rows: Sequence[RunRow], known: Sequence[Experiment] | None = None
) -> dict[str, Any] | None:
    """Return the comparison of the variants that the runs are of, as JSON-ready data.

    None if there is one variant, or if no variant has two runs that count. ``known`` are the
    store's experiments of the runs' names, if they were read already.
    """
    if known is None:
        names = dict.fromkeys(row.experiment for row in rows)
        known = [one for name in names for one in experiments(store, name)]
    found = _groups(store, rows, known)
    groups = [group for _label, group in found]
    if len(groups) < 2 or max(len(group.runs) for group in groups) < 2:
        return None
    labels, variants = [label for label, _group in found], [group.variant for group in groups]
    values = list(_values(groups))
    set_p_holm(
        (line["metric"], each)
        for line in values
        for each in line["differences"]
        if each is not None
    )
    document = {
        "variants": [
            {
                "name": name,
                "experiment": label,
                "variant": dict(group.variant),
                "runs": [row.id for row in group.runs],
                "left_out": group.left_out.numbers,
            }
            for name, label, group in zip(
                naming.of_variants(labels, variants), labels, groups, strict=True
            )
        ],
        "values": values,
    }
    made: dict[str, Any] = json_ready(document)
    return made


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
    found = []
    for (label, _variant), of_variant in chosen.items():
        oldest_first = sorted(of_variant, key=lambda row: (row.started_utc, row.id))
        experiment = of_rows(of_variant[0].experiment, oldest_first)
        (group,), _axes = observe(store, experiment, ValueSelection(metrics))
        found.append((label, group))
    return found


def _values(groups: Sequence[VariantValues]) -> Iterator[dict[str, Any]]:
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
