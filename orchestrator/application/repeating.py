"""Repeats the variants of a scenario as often as its rule for the number of repetitions asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application.events import Listener, RepetitionsNeeded
from orchestrator.errors import UsageError
from orchestrator.planning.plan import plan
from orchestrator.repetitions import RepetitionRule
from results.experiment.repetitions import require_metric, required
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario import LoadedScenario
    from results.experiment.repetitions import RequiredRepetitions

Execute = Callable[["Plan"], list[str]]
"""Runs a plan, or finds its runs in the store; returns their ids in the order of the plan."""


def with_repetitions(overrides: Sequence[str], number: int | None) -> tuple[str, ...]:
    """Return overrides with that of ``--repetitions``."""
    return (*overrides, *([] if number is None else [f"repetitions={number}"]))


def require_rule(loaded: LoadedScenario) -> RepetitionRule | None:
    """Return the scenario's rule, None for a fixed number of repetitions.

    Raises:
        UsageError: its metric, flow entry or window does not exist.
    """
    rule = loaded.scenario.repetitions.rule
    if rule is None:
        return None

    require_metric(rule)
    for key, name, there in (
        ("flow", rule.flow, loaded.scenario.flows),
        ("window", rule.window, loaded.scenario.measure),
    ):
        names = [parameter.name for parameter in there]
        if name is not None and name not in names:
            listed = ", ".join(names) or "none"
            raise UsageError(f"repetitions.until: there is no {key} {name}; there are {listed}")
    return rule


def run(loaded: LoadedScenario, execute: Execute, db: Path, listener: Listener) -> list[str]:
    """Run all repetitions and return the ids, variant by variant.

    The rule looks at the repetitions of a variant in their order, after rounds whose sizes it has
    asked for. So the number of jobs does not change which runs are made.
    """
    rule = require_rule(loaded)
    if rule is None:
        return execute(plan(loaded))
    made: list[list[str]] = [[] for _variant in loaded.variants]
    repetitions = [rule.least for _variant in loaded.variants]
    while any(len(runs) < number for runs, number in zip(made, repetitions, strict=True)):
        rest = [range(len(runs), number) for runs, number in zip(made, repetitions, strict=True)]
        ids = execute(plan(loaded, repetitions=rest))
        for runs, numbers in zip(made, rest, strict=True):
            runs += ids[: len(numbers)]
            ids = ids[len(numbers) :]
        with Store.open_read_only(db) as store:
            requirements = [required(store, runs, rule) for runs in made]
        repetitions = [requirement.repetitions for requirement in requirements]
        listener(_asked(sum(map(len, made)), requirements, rule))
    return [run_id for runs in made for run_id in runs]


def _asked(
    made: int, requirements: Sequence[RequiredRepetitions], rule: RepetitionRule
) -> RepetitionsNeeded:
    """Return what the rule asks for after so many runs, and how many of them have no value."""
    hopeless = sum(requirement.hopeless for requirement in requirements)
    return RepetitionsNeeded(
        made,
        sum(requirement.repetitions for requirement in requirements) - made,
        sum(not requirement.narrow_enough for requirement in requirements) - hopeless,
        hopeless,
        sum(requirement.without_value for requirement in requirements),
        rule.metric,
        rule.least,
    )
