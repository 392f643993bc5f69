"""Which runs a comparison is of, and what they are called in its charts.

The address names runs, or an experiment and some of its variants. Of variants, all repetitions
give the means, and one repetition of each gives curves and settings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import abort

from orchestrator.errors import UsageError
from results.comparison.variants import VariantComparison, compare_variants
from results.experiment.experiments import Experiment
from results.matrix import axes, naming
from results.records.model import RunRow
from results.store.store import Store
from results.store.stored import StoredRun
from web.contract.parameters import MOST_COMPARED, MOST_VARIANTS, CompareQuery
from web.views import studies

MOST_RUNS = 400
"""Runs of all variants together."""


@dataclass(frozen=True)
class SideBySide:
    """``shown`` stand beside each other, under ``labels``; ``ids`` are those of all runs.

    ``variants`` is the comparison over repetitions, if there is one. ``experiment`` is the one
    whose variants are compared, and ``repetitions`` are those to choose from.
    """

    shown: Sequence[StoredRun]
    labels: Sequence[str]
    ids: Sequence[str]
    variants: VariantComparison | None
    experiment: Experiment | None = None
    repetition: int | None = None
    repetitions: Sequence[int] = ()


def compared(store: Store, query: CompareQuery) -> SideBySide:
    """Return what an address compares; 404 for what is not there.

    Raises:
        UsageError: a parameter is not valid.
    """
    if query.experiment is not None:
        if query.run:
            raise UsageError("run: give runs, or an experiment and its variants, not both")
        return _of_variants(store, query.experiment, query)
    if query.variant or query.repetition is not None:
        raise UsageError("variant: give the experiment, too")
    runs = load(store, query.run, MOST_COMPARED)
    if len(runs) < 2:
        raise UsageError("choose two runs or more to compare")
    rows = [run.row for run in runs]
    return SideBySide(
        runs, naming.of_runs(rows), [row.id for row in rows], _over_repetitions(store, rows)
    )


def load(store: Store, names: Sequence[str], most: int) -> list[StoredRun]:
    """Return the runs of these names; 404 for one that is not there.

    Raises:
        UsageError: there are none, or too many.
    """
    ids = list(dict.fromkeys(names))
    if not ids or len(ids) > most:
        raise UsageError(f"run: choose 1 to {most} runs, not {len(ids)}")
    try:
        return [store.load(run_id) for run_id in ids]
    except UsageError as error:
        abort(404, str(error))


def _of_variants(store: Store, label: str, query: CompareQuery) -> SideBySide:
    experiment, _others = studies.named(store, label)
    chosen = _chosen(query.variant, experiment)
    rows = [row for of_variant in chosen for row in of_variant]
    if len(rows) > MOST_RUNS:
        raise UsageError(f"these variants have {len(rows)} runs; choose fewer, of {MOST_RUNS} runs")
    repetitions = sorted(
        set.intersection(*({row.repetition for row in of_variant} for of_variant in chosen))
    )
    if not repetitions:
        raise UsageError("the variants have no repetition in common that ended well")
    repetition = repetitions[0] if query.repetition is None else query.repetition
    newest = [
        [row for row in of_variant if row.repetition == repetition][-1:] for of_variant in chosen
    ]
    if not all(newest):
        valid = ", ".join(map(str, repetitions))
        raise UsageError(f"repetition={repetition} is not one of {valid}")
    shown = [store.load(row.id) for of_variant in newest for row in of_variant]
    variants = _over_repetitions(store, rows)
    if variants:
        names = [variant.name for variant in variants.variants]
    else:
        names = naming.of_runs([run.row for run in shown])
    ids = [row.id for row in rows]
    return SideBySide(shown, names, ids, variants, experiment, repetition, repetitions)


def _over_repetitions(store: Store, rows: Sequence[RunRow]) -> VariantComparison | None:
    """Return the comparison of ``results.comparison.variants``, if there is one."""
    names = dict.fromkeys(row.experiment for row in rows)
    return compare_variants(
        store, rows, [experiment for name in names for experiment in studies.every(store, name)]
    )


def _chosen(texts: Sequence[str], experiment: Experiment) -> list[list[RunRow]]:
    """Return the faithful or doubtful runs of each variant that the address names."""
    names = list(dict.fromkeys(texts))
    if not 2 <= len(names) <= MOST_VARIANTS:
        raise UsageError(f"variant: choose 2 to {MOST_VARIANTS} variants, not {len(names)}")
    there = experiment.variants()
    chosen = []
    for text in names:
        rows = there.get(_key(text))
        if rows is None:
            abort(404, f"{experiment.label} has no variant {text}")
        counting = [row for row in rows if row.counts]
        if not counting:
            raise UsageError(f"variant {text} has no faithful run")
        chosen.append(counting)
    return chosen


def _key(text: str) -> str:
    """Return the key of a variant's values, which the address has as JSON."""
    try:
        return axes.key(json.loads(text))
    except (ValueError, RecursionError):
        raise UsageError(f"variant={text[:80]} is no JSON object of values by axis") from None


def curves(chosen: SideBySide) -> list[dict[str, Any]]:
    """Return what the charts need of each run that has samples: label, id and flows."""
    return [
        {
            "label": label,
            "id": run.id,
            "flows": [
                {"name": flow.name}
                | ({"baseRttS": flow.base_rtt_s} if run.queues and flow.transport == "tcp" else {})
                for flow in run.flows
            ],
        }
        for run, label in zip(chosen.shown, chosen.labels, strict=True)
        if run.row.status == "ok"
    ]
