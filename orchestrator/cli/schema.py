"""``orchestrator schema``: the scenario language for editors and other programs."""

from __future__ import annotations

import click

from orchestrator.cli import _text


@click.command()
def command() -> None:
    """Print the JSON Schema of scenario files.

    \b
    orchestrator schema > scenario.schema.json
    """
    from orchestrator.scenario.schema import json_schema

    _text.print_json(json_schema())
