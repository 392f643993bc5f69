"""Finds the experiment that a user means: by its name, ``NAME@HASH``, or a scenario file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError
from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from results.experiment.experiments import choice, experiments, main, name_of
from results.experiment.experiments import find as find_named
from results.store.resolving import LAST, UnknownRunError

if TYPE_CHECKING:
    from orchestrator.scenario import LoadedScenario
    from results.experiment.experiments import Experiment
    from results.store.store import Store

Tell = Callable[[str], None]
"""Called with a line for the user."""


def find(
    store: Store,
    text: str,
    tell: Tell,
    overrides: tuple[str, ...] = (),
    reduced: bool = False,
) -> Experiment:
    """Return the experiment of a name, of ``NAME@HASH``, or of a scenario file.

    ``reduced`` means the reduced form of a file.

    Other experiments that the name may mean are told.

    Raises:
        UsageError: there is none.
        ScenarioError: the file is no valid scenario.
    """
    if not is_file(text):
        if overrides or reduced:
            option = "--set" if overrides else "--reduced"
            raise UsageError(f"{option}: {text} is no scenario file")
        chosen, others = find_named(store, text)
        if others:
            tell(choice(chosen, others))
        return chosen

    loaded = load(Path(text), overrides, reduced)
    sha256 = experiment_sha256(loaded)
    same = [
        candidate
        for candidate in experiments(store)
        if candidate.name == loaded.scenario.name
        and any(row.experiment_sha256 == sha256 for row in candidate.rows)
    ]
    if not same:
        raise UsageError(
            f"{store.path} has no runs of {text} as it is now{_other_form(loaded, reduced)}; "
            f"`orchestrator run {text}` makes them, `orchestrator experiments` lists what there is"
        )
    chosen = main(same)
    if others := [candidate for candidate in same if candidate is not chosen]:
        tell(choice(chosen, others))
    return chosen


def run_ids(store: Store, text: str, tell: Tell) -> set[str]:
    """Return the ids of the runs of ``NAME@HASH``, or of all experiments of a name.

    Raises:
        UsageError: there is none.
    """
    chosen, others = find_named(store, text)
    of_name = experiments(store, chosen.name)
    if text != chosen.name:
        return {row.id for row in chosen.rows}
    if others:
        labels = ", ".join(experiment.label for experiment in of_name)
        tell(f"the runs are of {len(of_name)} experiments of this name: {labels}")
    return {row.id for experiment in of_name for row in experiment.rows}


def the_only(store: Store, text: str, tell: Tell) -> Experiment:
    """Return the experiment of a name, ``NAME@HASH`` or file, if there is no other one of it.

    Raises:
        UsageError: there is none, or there are several.
    """
    told: list[str] = []
    chosen = find(store, text, told.append)
    of_name = experiments(store, chosen.name)
    if len(of_name) > 1 and not is_file(text) and name_of(text) == text:
        labels = ", ".join(experiment.label for experiment in of_name)
        raise UsageError(f"{text}: several experiments have this name; choose one of {labels}")
    for line in told:
        tell(line)
    return chosen


def run_or_experiment(
    store: Store, text: str, tell: Tell, overrides: tuple[str, ...] = ()
) -> str | Experiment:
    """Return the id of the run, or the experiment, that ``RUN|EXPERIMENT|FILE`` means.

    The name of an experiment comes before the start of a run's id.

    Raises:
        UsageError: there is neither, or the text may mean several runs.
        ScenarioError: the file is no valid scenario.
    """
    if overrides or _is_experiment(store, text):
        return find(store, text, tell, overrides)
    try:
        return store.resolve(text)
    except UnknownRunError:
        if text == LAST:
            raise
        try:
            return find(store, text, tell)
        except UsageError as error:
            raise UsageError(
                f"{error}; it is no run either, `orchestrator runs` lists them"
            ) from None


def _is_experiment(store: Store, text: str) -> bool:
    names = {row.experiment for row in store.list_runs()}
    return text != LAST and (is_file(text) or name_of(text) in names)


def is_file(text: str) -> bool:
    """Tell whether the argument is a scenario file, which need not exist."""
    return text.endswith((".yaml", ".yml")) or "/" in text


def _other_form(loaded: LoadedScenario, reduced: bool) -> str:
    return " (--reduced means its reduced form)" if loaded.reducible and not reduced else ""
