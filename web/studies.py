"""Experiments of the store with what pages and the API show of them, kept while it is unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import abort

from orchestrator.errors import UsageError
from results.experiments import Experiment, find, name_of
from results.experiments import experiments as all_experiments
from results.observations import ValueSelection
from results.store import Store
from results.summary import summarise
from web import choices
from web.cache import cached


def every(store: Store, name: str | None = None) -> list[Experiment]:
    """Return the experiments of a store, or those of a name alone."""

    def make() -> tuple[list[Experiment], bool]:
        found = all_experiments(store, name)
        return found, any(one.running for one in found)

    return cached(("experiments", name), make)


def newest_first(found: Sequence[Experiment]) -> list[Experiment]:
    """Return experiments by the time of their newest run."""
    # Of two that began in one millisecond, the later one in the store is the newer.
    return sorted(found, key=lambda one: one.newest.started_utc)[::-1]


def named(store: Store, label: str) -> tuple[Experiment, list[Experiment]]:
    """Return the experiment of a name or NAME@HASH and others of the name; 404 if there is none."""
    try:
        return find(store, label, every(store, name_of(label)))
    except UsageError as error:
        abort(404, str(error))


def metrics(store: Store, found: Experiment) -> list[str]:
    """Return the metrics that the newest runs have values of."""
    return cached(("metrics", found.identity), lambda: (choices.metrics_of(store, found), False))


def scenario_text(store: Store, found: Experiment) -> str:
    """Return the scenario file of the newest run, as it was."""
    return store.load(found.newest.id).head.scenario_text


def summary(
    store: Store,
    found: Experiment,
    wanted: ValueSelection,
    by: tuple[str, ...],
    quantiles: tuple[float, ...] = (),
    medians: bool = False,
) -> Mapping[str, Any]:
    """Return the summary. Pages show no medians, whose intervals take half of its time."""

    def make() -> tuple[Mapping[str, Any], bool]:
        return summarise(store, found, wanted, by, quantiles, medians), False

    return cached(("summary", found.identity, wanted, by, quantiles, medians), make)
