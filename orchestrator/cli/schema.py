"""``orchestrator schema``: print the scenario language for editors and other programs."""

from __future__ import annotations

import click

from orchestrator.cli import _output


@click.command()
@click.option("--markdown", is_flag=True, help="Print a reference for people instead.")
def command(markdown: bool) -> None:
    """Print the JSON Schema of scenario files.

    \b
    orchestrator schema > scenario.schema.json
    """
    if markdown:
        from orchestrator.scenario import reference

        click.echo(reference.markdown(), nl=False)
        return
    from orchestrator.scenario.schema import json_schema

    _output.print_json(json_schema())
