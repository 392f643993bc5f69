"""``orchestrator export``: write a stored run to files."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options
from orchestrator.errors import UsageError


@click.command()
@click.argument("run")
@click.option(
    "--format", "name", metavar="NAME", help="csv or json; by default the extension of FILE."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; csv also writes FILE.queues.csv, FILE.flows.csv, FILE.metrics.csv.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@_options.database
def command(run: str, name: str | None, output: Path, force: bool, db: Path) -> None:
    """Write a stored run, with all samples, to files.

    RUN is an id, a unique prefix of one, or "last". Prints the names of the files.

    \b
    orchestrator export last -o run.json
    orchestrator export last --format csv -o run.csv
    """
    from results.export import FORMATS, export
    from results.store import Store

    chosen = output.suffix.removeprefix(".") if name is None else name
    if chosen not in FORMATS:
        raise UsageError(f"--format {chosen or '?'}: choose one of {', '.join(sorted(FORMATS))}")
    with Store.open_read_only(db) as store:
        for path in export(store.load(run), chosen, output, force):
            click.echo(path)
