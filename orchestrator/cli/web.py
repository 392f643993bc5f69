"""``orchestrator web``: serve the dashboard."""

from __future__ import annotations

import os
from pathlib import Path

import click

import web
from orchestrator.cli.options import shared
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import UsageError
from results.schema import earlier_schema
from results.store.store import Store

TOKEN_VARIABLE = "ORCHESTRATOR_WEB_TOKEN"


@click.command()
@shared.database
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="TCP port; 0 takes a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the access token, readable only by you: one line of 16 or more letters, digits "
    f"and -._~; or set {TOKEN_VARIABLE}. Required when others can reach the address.",
)
@click.option(
    "--edit", is_flag=True, help="Let the pages write notes and tags; on loopback addresses only."
)
@click.option(
    "--cards",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of folders with report cards; that of the database by default.",
)
@click.option("--token", hidden=True, help="Refused: every user of the machine could see it.")
def command(
    db: Path,
    host: str,
    port: int,
    token_file: Path | None,
    edit: bool,
    cards: Path | None,
    token: str | None,
) -> None:
    """Serve the dashboard of stored runs until Ctrl-C. It only reads, unless --edit is given.

    \b
    orchestrator web
    orchestrator web --port 0 --db elsewhere/runs.db
    orchestrator web --edit
    """
    if token is not None:
        raise UsageError(
            "--token is refused, because every user of this machine can read a command line: put "
            "the token into a file of mode 600 and name it with --token-file, or set "
            f"{TOKEN_VARIABLE}"
        )
    known = os.environ.get(TOKEN_VARIABLE) if token_file is None else web.read_token(token_file)
    if known == "":
        raise UsageError(f"{TOKEN_VARIABLE} is empty: set a token, or unset the variable")
    if db.exists():
        # A file that is no store is reported now, and not on every page.
        with Store.open_read_only(db) as store:
            said = earlier_schema.warning(store.connection, db) if edit else None
        if said is not None:
            StatusLine().say(said)
    web.serve(db, host, port, known, edit, cards)
