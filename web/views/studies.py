"""Experiments of the store with what pages and the API show of them, kept while it is unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from flask import abort

from orchestrator.errors import UsageError
from results.experiment.experiments import Experiment, find, name_of
from results.experiment.experiments import experiments as all_experiments
from results.experiment.model import Summary
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.store.store import Store
from web.http.cache import cached
from web.views import choices


def every(store: Store, name: str | None = None) -> list[Experiment]:
    """Return the experiments of a store, or those of a name alone."""

    def make() -> tuple[list[Experiment], bool]:
        experiments = all_experiments(store, name)
        return experiments, any(experiment.running for experiment in experiments)

    return cached(("experiments", name), make)


def newest_first(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return experiments by the time of their newest run."""
    # Of two that began in one millisecond, the later one in the store is the newer.
    return sorted(experiments, key=lambda experiment: experiment.newest.started_utc)[::-1]


def named(store: Store, label: str) -> tuple[Experiment, list[Experiment]]:
    """Return the experiment of a name or NAME@HASH and others of the name; 404 if there is none."""
    try:
        return find(store, label, every(store, name_of(label)))
    except UsageError as error:
        abort(404, str(error))


def metrics(store: Store, experiment: Experiment) -> list[str]:
    """Return the metrics that the newest runs have values of."""
    return cached(
        ("metrics", experiment.identity), lambda: (choices.metrics_of(store, experiment), False)
    )


def scenario_text(store: Store, experiment: Experiment) -> str:
    """Return the scenario file of the newest run, as it was."""
    return store.load(experiment.newest.id).head.scenario_text


def summary(
    store: Store,
    experiment: Experiment,
    selection: ValueSelection,
    by: tuple[str, ...],
    quantiles: tuple[float, ...] = (),
    medians: bool = False,
    compare: tuple[str, ...] = (),
) -> Summary:
    """Return the summary. Pages show no medians, whose intervals take half of its time."""

    def make() -> tuple[Summary, bool]:
        return summarise(store, experiment, selection, by, quantiles, medians, compare), False

    request = (selection, by, quantiles, medians, compare)
    return cached(("summary", experiment.identity, *request), make)
