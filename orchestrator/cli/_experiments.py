"""The argument ``EXPERIMENT|FILE`` of commands about experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.scenario import LoadedScenario
    from results.experiments import Experiment
    from results.store import Store

ARGUMENT = "EXPERIMENT|FILE"


def find(
    store: Store, text: str, overrides: tuple[str, ...] = (), reduced: bool = False
) -> Experiment:
    """Return the experiment of a name, of ``NAME@HASH``, or of a scenario file.

    ``reduced`` means the reduced form of a file.

    Other experiments that the name may mean are named on standard error.

    Raises:
        UsageError: there is none.
        ScenarioError: the file is no valid scenario.
    """
    from results.experiments import experiments, newest
    from results.experiments import find as find_named

    if not is_file(text):
        if overrides or reduced:
            option = "--set" if overrides else "--reduced"
            raise UsageError(f"{option}: {text} is no scenario file")
        found, others = find_named(store, text)
        if others:
            labels = ", ".join(each.label for each in others)
            click.echo(f"{found.label} is the newest; there are also {labels}", err=True)
        return found
    from orchestrator.planning.identity import experiment_sha256
    from orchestrator.scenario import load

    loaded = load(Path(text), overrides, reduced)
    sha256 = experiment_sha256(loaded)
    same = [
        one
        for one in experiments(store)
        if one.name == loaded.scenario.name
        and any(row.experiment_sha256 == sha256 for row in one.rows)
    ]
    if not same:
        raise UsageError(
            f"{store.path} has no runs of {text} as it is now{_other_form(loaded, reduced)}; "
            f"`orchestrator run {text}` makes them, `orchestrator experiments` lists what there is"
        )
    return newest(same)


def is_file(text: str) -> bool:
    """Tell whether the argument is a scenario file, which need not exist."""
    return text.endswith((".yaml", ".yml")) or "/" in text


def _other_form(loaded: LoadedScenario, reduced: bool) -> str:
    return " (--reduced means its reduced form)" if loaded.reducible and not reduced else ""
