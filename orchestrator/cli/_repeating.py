"""Repeats the variants of a scenario as often as its rule for the number of repetitions asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _output
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario import LoadedScenario

Execute = Callable[["Plan"], list[str]]
"""Runs a plan, or finds its runs in the store; returns their ids in the order of the plan."""


def require_rule(loaded: LoadedScenario) -> dict[str, Any] | None:
    """Return the scenario's rule, None for a fixed number of repetitions.

    Raises:
        UsageError: its metric, flow entry or window does not exist.
    """
    rule = loaded.scenario.repetitions.rule
    if rule is None:
        return None
    from results.repetitions import require_metric

    require_metric(rule)
    for key, there in (("flow", loaded.scenario.flows), ("window", loaded.scenario.measure)):
        names = [each.name for each in there]
        if rule[key] is not None and rule[key] not in names:
            listed = ", ".join(names) or "none"
            raise UsageError(
                f"repetitions.until: there is no {key} {rule[key]}; there are {listed}"
            )
    return rule


def run(loaded: LoadedScenario, execute: Execute, db: Path, quiet: bool) -> list[str]:
    """Run all repetitions and return the ids, variant by variant.

    The rule looks at the repetitions of a variant in their order, after rounds whose sizes it has
    asked for. So the number of jobs does not change which runs are made.
    """
    from orchestrator.planning.plan import plan
    from results.repetitions import required
    from results.store import Store

    rule = require_rule(loaded)
    if rule is None:
        return execute(plan(loaded))
    made: list[list[str]] = [[] for _variant in loaded.variants]
    asked = [rule["least"] for _variant in loaded.variants]
    while any(len(runs) < number for runs, number in zip(made, asked, strict=True)):
        rest = [range(len(runs), number) for runs, number in zip(made, asked, strict=True)]
        ids = execute(plan(loaded, repetitions=rest))
        for runs, numbers in zip(made, rest, strict=True):
            runs += ids[: len(numbers)]
            ids = ids[len(numbers) :]
        with Store.open_read_only(db) as store:
            found = [required(store, runs, rule) for runs in made]
        asked = [each.repetitions for each in found]
        too_wide = sum(not each.narrow_enough for each in found)
        if not quiet or (too_wide and asked == [len(runs) for runs in made]):
            _say(made, asked, too_wide)
    return [run_id for runs in made for run_id in runs]


def _say(made: Sequence[Sequence[str]], asked: Sequence[int], too_wide: int) -> None:
    """Say what the rule asks for; ``too_wide`` counts the variants with too wide an interval."""
    more = sum(number - len(runs) for runs, number in zip(made, asked, strict=True))
    if more:
        says = f"the rule asks for {_output.plural(more, 'more run')}"
    elif too_wide:
        says = (
            f"{_output.plural(too_wide, 'variant')} reached the most repetitions with a wider "
            "interval than asked for"
        )
    else:
        says = "every interval is as narrow as asked for"
    click.echo(f"{_output.plural(sum(map(len, made)), 'run')}: {says}", err=True)
