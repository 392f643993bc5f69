"""``orchestrator export``: write a stored run to files."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import _completion, _crate, _experiments, _options
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from results.store import Store


class _Export(click.Command):
    """The command; its help names the files of each format, as the formats describe them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats with their files."""
        del ctx
        from results import crate
        from results.export import FORMATS
        from results.tidy import WRITERS

        with formatter.section("Formats of a run and their files"):
            formatter.write_dl([(each.name, _plain(each.description)) for each in FORMATS.values()])
        with formatter.section("Formats of an experiment and their files"):
            formatter.write_dl(
                [(name, _plain(inspect.cleandoc(write.__doc__ or "").partition("\n\n")[0]))
                 for name, write in WRITERS.items()]
            )  # fmt: skip
        with formatter.section("Formats of both and their files"):
            formatter.write_dl([(crate.NAME, crate.FILES)])


def _plain(docstring: str) -> str:
    return " ".join(docstring.replace("``", "").split())


@click.command(cls=_Export)
@click.argument(
    "what", metavar="RUN|EXPERIMENT|FILE", shell_complete=_completion.experiments_and_runs
)
@click.option(
    "--format",
    "name",
    metavar="NAME",
    shell_complete=_completion.formats,
    help="One of the formats below; by default the extension of the output.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write; a format of several files puts theirs beside it, named after it. "
    "Of rocrate a folder.",
)
@click.option(
    "--license", "licence", metavar="TEXT", help="Of rocrate: the data's licence, a URL or words."
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@_options.database
def command(
    what: str, name: str | None, output: Path, licence: str | None, force: bool, db: Path
) -> int:
    """Write a stored run with all samples, or an experiment's metrics, to files.

    RUN is an id, a unique prefix of one, or "last". EXPERIMENT is NAME or NAME@HASH, and a scenario
    FILE means the experiment that it makes. Of an experiment, csv and parquet are one table: a row
    for each run, window and flow, a column for each axis and metric. Prints the names of the files.

    \b
    orchestrator export last -o run.json
    orchestrator export last --format csv -o run.csv
    orchestrator export bbr-vs-cubic -o bbr-vs-cubic.parquet
    orchestrator export bbr-vs-cubic --format rocrate -o bbr-vs-cubic
    """
    from results import crate
    from results.export import FORMATS, export, no_samples
    from results.store import Store
    from results.tidy import WRITERS

    chosen = output.name.removesuffix(".gz").rpartition(".")[2] if name is None else name
    if chosen == "ro-crate":  # as RO-Crate itself is spelt
        chosen = crate.NAME
    valid = sorted({*FORMATS, *WRITERS, crate.NAME})
    if chosen not in valid:
        wrong = f"--format {name}" if name is not None else f"{output}: its suffix is no format"
        raise UsageError(f"{wrong}: choose one of {', '.join(valid)} with --format")
    if licence is not None and chosen != crate.NAME:
        raise UsageError(f"--license: it is for --format {crate.NAME}")
    if chosen != crate.NAME and output.is_dir():
        raise UsageError(f"-o {output}: it is a folder; give a file")
    with Store.open_read_only(db) as store:
        if chosen == crate.NAME:
            found = _experiments.find(store, what) if _is_experiment(store, what) else None
            status = _crate.export(store, found or what, output, licence, force)
            click.echo(output)
            return status
        if _is_experiment(store, what):
            _export_experiment(store, what, chosen, output, force)
            return 0
        stored = store.load(what)
        for path in export(stored, chosen, output, force):
            click.echo(path)
        if missing := no_samples(stored):
            click.echo(f"{missing}: the file has its scenario and its error", err=True)
    return 0


def _is_experiment(store: Store, what: str) -> bool:
    """Tell whether the argument names an experiment and not a run."""
    if what == "last" or any(row.id.startswith(what) for row in store.list_runs()):
        return False
    names = {row.experiment for row in store.list_runs()}
    return _experiments.is_file(what) or what.partition("@")[0] in names


def _export_experiment(store: Store, what: str, name: str, output: Path, force: bool) -> None:
    from results import tidy

    experiment = _experiments.find(store, what)
    if name not in tidy.WRITERS:
        raise UsageError(
            f"--format {name}: of an experiment there is {' or '.join(tidy.WRITERS)}; name a run "
            f"for {name}"
        )
    tidy.write(store, experiment, {name: output}, force)
    click.echo(output)
