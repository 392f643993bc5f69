"""``orchestrator show``: one stored run."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator import plaintext
from orchestrator.cli import _options, _report, _text


@click.command()
@click.argument("run")
@_options.database
@_options.as_json
@click.option("--console", "artefact", flag_value="console", help="Print the guest's console.")
@click.option("--log", "artefact", flag_value="log", help="Print what the test bed said.")
def command(run: str, db: Path, as_json: bool, artefact: str | None) -> None:
    """Show a stored run, with every check of its fidelity.

    RUN is an id, a unique start of one, or "last".

    \b
    orchestrator show last
    orchestrator show last --json
    """
    from results.store import Store

    with Store.open_read_only(db) as store:
        if artefact is not None:
            # Runs of earlier versions are stored with what the guest wrote as it was.
            click.echo(plaintext.visible(store.load(run).artefact(artefact)), nl=False)
            return
        document = store.document([run])
    if as_json:
        _text.print_json(document)
    else:
        _report.print_run(document["runs"][0], _text.console(), everything=True)
