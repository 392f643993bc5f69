"""``orchestrator export``: write a stored run to files."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _completion, _options
from orchestrator.errors import UsageError


class _Export(click.Command):
    """The command; its help names the files of each format, as the formats describe them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats with their files."""
        del ctx
        from results.export import FORMATS

        with formatter.section("Formats and their files"):
            formatter.write_dl([(each.name, _plain(each.description)) for each in FORMATS.values()])


def _plain(docstring: str) -> str:
    return " ".join(docstring.replace("``", "").split())


@click.command(cls=_Export)
@click.argument("run", shell_complete=_completion.runs)
@click.option(
    "--format",
    "name",
    metavar="NAME",
    shell_complete=_completion.formats,
    help="One of the formats below; by default the extension of FILE.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; a format of several files puts theirs beside it, named after it.",
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
    from results.export import FORMATS, export, no_samples
    from results.store import Store

    chosen = output.suffix.removeprefix(".") if name is None else name
    if chosen not in FORMATS:
        raise UsageError(f"--format {chosen or '?'}: choose one of {', '.join(sorted(FORMATS))}")
    with Store.open_read_only(db) as store:
        stored = store.load(run)
        for path in export(stored, chosen, output, force):
            click.echo(path)
        if missing := no_samples(stored):
            click.echo(f"{missing}: the file has its scenario and its error", err=True)
