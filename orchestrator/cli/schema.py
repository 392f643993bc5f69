"""``orchestrator schema``: print the scenario language for editors and other programs."""

from __future__ import annotations

import click

from orchestrator.cli.render import terminal
from orchestrator.errors import UsageError
from orchestrator.scenario import reference
from orchestrator.scenario.schema import json_schema
from results.documents import reference as metrics_reference


@click.command()
@click.option("--markdown", is_flag=True, help="Print a reference for people instead.")
@click.option("--metrics", is_flag=True, help="Print metrics and columns of samples instead.")
def command(markdown: bool, metrics: bool) -> None:
    """Print the JSON Schema of scenario files.

    \b
    orchestrator schema > scenario.schema.json
    """
    if markdown and metrics:
        raise UsageError("--markdown and --metrics are two pages; give one of them")
    if metrics:
        terminal.say(metrics_reference.markdown(), nl=False)
        return
    if markdown:
        terminal.say(reference.markdown(), nl=False)
        return

    terminal.print_json(json_schema())
