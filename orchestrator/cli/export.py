"""``orchestrator export``: write a stored run to files."""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from orchestrator.application.stored import kept_export
from orchestrator.application.stored.export import ExportRequest, export
from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.units import listed
from results.crate import crate_files as crate
from results.export import FORMATS
from results.tables.experiment_table import WRITERS


class _Export(click.Command):
    """The command; its help names the files of each format, as the formats describe them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats with their files."""
        del ctx

        with formatter.section("Formats of a run and their files"):
            formatter.write_dl(
                [
                    (export_format.name, _plain(export_format.description))
                    for export_format in FORMATS.values()
                ]
            )
        with formatter.section("Formats of an experiment and their files"):
            formatter.write_dl(
                [(name, _plain(inspect.cleandoc(write.__doc__ or "").partition("\n\n")[0]))
                 for name, write in WRITERS.items()]
            )  # fmt: skip
        with formatter.section("Formats of both and their files"):
            formatter.write_dl([(crate.NAME, crate.FILES)])
        with formatter.section("Files that a run keeps of its programs (`keep`)"):
            formatter.write_dl([(kept_export.NAME, kept_export.FILES)])


def _plain(docstring: str) -> str:
    return " ".join(docstring.replace("``", "").split())


@click.command(cls=_Export)
@click.argument(
    "what", metavar="RUN|EXPERIMENT|FILE", shell_complete=completion.experiments_and_runs
)
@click.option(
    "--format",
    "name",
    metavar="NAME",
    shell_complete=completion.formats,
    help="One of the formats below; by default the extension of the output.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write; a format of several files puts theirs beside it, named after it. "
    "Of rocrate and kept a folder.",
)
@click.option(
    "--license", "licence", metavar="TEXT", help="Of rocrate: the data's licence, a URL or words."
)
@click.option(
    "--trace",
    metavar="N",
    type=click.IntRange(1),
    shell_complete=completion.traces,
    help="The number of a trace of the run; by default the newest one that has what is needed. "
    "Parquet files are of the trace then, and not of samples.",
)
@click.option(
    "--at",
    "place",
    metavar="PLACE",
    shell_complete=completion.places,
    help="Where it was seen: of pcapng and tcpdump a host, CHANNEL:in, CHANNEL:out or all; of ss "
    "and nstat a host. Without it, the error lists the places.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@shared.database
def command(
    what: str,
    name: str | None,
    output: Path,
    licence: str | None,
    trace: int | None,
    place: str | None,
    force: bool,
    db: Path,
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
    orchestrator export last --at bottleneck:forward:in -o queue.pcapng
    orchestrator export last --at a_src0 --format ss -o sockets.txt
    orchestrator export last --trace 1 -o trace.parquet
    orchestrator export last --format kept -o kept
    """
    request = ExportRequest(what, output, name, licence, force, trace, place)
    with RunEvents(quiet=False) as listener:
        exported = export(request, db, listener)
    for path in exported.files:
        terminal.say(path)
    for text in exported.missing:
        terminal.line(f"incomplete: {text}", err=True)
    for clock in exported.clocks:
        terminal.line(f"times at {listed(clock.hosts)} are by {clock.text}", err=True)
    if exported.without_samples:
        reason = f"{exported.without_samples}: the file has its scenario and its error"
        terminal.line(reason, err=True)
    return exported.status
