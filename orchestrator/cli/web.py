"""``orchestrator web``: the dashboard."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options
from orchestrator.errors import UsageError


@click.command()
@_options.database
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="TCP port; 0 takes a free one.",
)
@click.option(
    "--token",
    envvar="ORCHESTRATOR_WEB_TOKEN",
    show_envvar=True,
    help="What a visitor must know; needed where others can reach the address.",
)
def command(db: Path, host: str, port: int, token: str | None) -> None:
    """Serve the dashboard of stored runs, read only, until Ctrl-C.

    \b
    orchestrator web
    orchestrator web --port 0 --db elsewhere/runs.db
    """
    from web import serve

    if token == "":
        raise UsageError("--token: an empty token protects nothing")
    serve(db, host, port, token)
