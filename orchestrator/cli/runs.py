"""``orchestrator runs``: list the stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options, _output, _report


@click.command()
@_options.database
@click.option("--experiment", metavar="NAME", help="List only the runs of this experiment.")
@_options.as_json
def command(db: Path, experiment: str | None, as_json: bool) -> None:
    """List the stored runs, oldest first."""
    from results.store import Store

    with Store.open_read_only(db) as store:
        listing = store.listing(experiment)
    if as_json:
        _output.print_json(listing)
        return
    _report.print_list(listing["runs"], _output.console(), scenarios=True)
