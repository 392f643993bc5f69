"""``orchestrator show``: show a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator import plaintext
from orchestrator.cli import _completion, _options, _output, _report


@click.command()
@click.argument("run", shell_complete=_completion.runs)
@_options.database
@_options.as_json
@click.option("--console", "artefact", flag_value="console", help="Print the guest's console.")
@click.option("--log", "artefact", flag_value="log", help="Print the test bed's log.")
def command(run: str, db: Path, as_json: bool, artefact: str | None) -> None:
    """Show a stored run, with all metrics and fidelity checks.

    RUN is an id, a unique prefix of one, or "last".

    \b
    orchestrator show last
    orchestrator show last --json
    """
    from results.store import Store

    with Store.open_read_only(db) as store:
        if artefact is not None:
            # Earlier versions stored the guest's output without escaping control characters.
            click.echo(plaintext.visible(store.load(run).artefact(artefact)), nl=False)
            return
        document = store.document([run])
    if as_json:
        _output.print_json(document)
    else:
        _report.print_run(document["runs"][0], _output.console(), everything=True)
