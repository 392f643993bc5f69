"""``orchestrator runs``: what is stored."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options, _report, _text


@click.command()
@_options.database
@click.option("--experiment", metavar="NAME", help="Only the runs of that experiment.")
@_options.as_json
def command(db: Path, experiment: str | None, as_json: bool) -> None:
    """List the stored runs, oldest first."""
    from results.store import Store

    with Store.open_read_only(db) as store:
        listing = store.listing(experiment)
    if as_json:
        _text.print_json(listing)
        return
    _report.print_list(listing["runs"], _text.console(), scenarios=True)
