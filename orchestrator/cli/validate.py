"""``orchestrator validate``: is a scenario file right?"""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options, _text


@click.command()
@_options.scenario_file("files", metavar="FILE...", nargs=-1, required=True)
@_options.overrides
def command(files: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Check scenario files; every fault with its place.

    \b
    orchestrator validate scenarios/*.yaml
    orchestrator validate mine.yaml --set flows.reno.congestion=vegas
    """
    from orchestrator.errors import Fault, ScenarioError
    from orchestrator.plan import plan
    from orchestrator.scenario import load

    faults: list[Fault] = []
    for file in files:
        try:
            planned = plan(load(file, overrides))
        except ScenarioError as error:
            faults += error.faults
        else:
            click.echo(f"{file}: valid, {_text.plural(len(planned.runs), 'run')}")
    if faults:
        raise ScenarioError(faults)
