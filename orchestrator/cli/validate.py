"""``orchestrator validate``: check scenario files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from orchestrator.cli import _options, _output


@click.command()
@_options.scenario_file("files", metavar="FILE...", nargs=-1, required=True)
@_options.overrides
@_options.reduced
def command(files: tuple[Path, ...], overrides: tuple[str, ...], reduced: bool) -> None:
    """Check scenario files and their reduced forms; print each fault with file, line and column.

    \b
    orchestrator validate scenarios/*.yaml
    orchestrator validate mine.yaml --set flows.reno.congestion=vegas
    """
    from orchestrator.errors import Fault, ScenarioError

    faults: list[Fault] = []
    for file in files:
        forms: list[str] = []
        found: list[Fault] = []
        for form in (True,) if reduced else (False, True):
            try:
                forms += _runs(file, overrides, form, optional=not reduced)
            except ScenarioError as error:
                word = "in its reduced form: " if form and not reduced else ""
                new = [each for each in error.faults if each not in found]
                found += [replace(each, message=word + each.message) for each in new]
        faults += found
        if not found:
            click.echo(f"{file}: valid, {', '.join(forms)}")
    if faults:
        raise ScenarioError(faults)


def _runs(file: Path, overrides: tuple[str, ...], reduced: bool, optional: bool) -> list[str]:
    """Return the number of runs of a form of a scenario as text; empty when it has no such form.

    Raises:
        ScenarioError: the form is not valid.
        UsageError: the scenario has no reduced form, and the form is not ``optional``.
    """
    from orchestrator.errors import ScenarioError, UsageError
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load

    try:
        planned = plan(load(file, overrides, reduced))
    except ScenarioError:
        raise
    except UsageError:
        if optional:
            return []
        raise
    runs = _output.plural(len(planned.runs), "run")
    return [f"{runs} reduced" if reduced and optional else runs]
