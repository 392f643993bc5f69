"""``orchestrator evidence``: a folder with what maintainers of a TCP stack ask for."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator import backends
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.stored.evidence import MAIL, EvidenceRequest, evidence
from orchestrator.cli.options import completion, shared
from orchestrator.cli.options.trace_window import limit_bytes, limited, window_ns
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import UsageError

MOST_RUNS = 2


@click.command()
@click.argument(
    "runs", metavar="RUN [RUN]", nargs=-1, required=True, shell_complete=completion.runs
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write.",
)
@click.option(
    "--window",
    metavar="FROM..TO",
    help="The part of the run whose packets are kept, such as 0s..3s; by default all of it.",
)
@limited("Size of the packets and ACKs in the guest's memory.")
@click.option("--force", is_flag=True, help="Replace the files of an earlier evidence there.")
@shared.database
@click.option("--unconfined", is_flag=True, help="Run the guest without its sandbox.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    runs: tuple[str, ...],
    folder: Path,
    window: str | None,
    limit: str,
    force: bool,
    db: Path,
    unconfined: bool,
    quiet: bool,
) -> None:
    """Write a folder with what maintainers of a TCP stack ask for, of one stored run or two.

    The runs are made again to the bit. For each there are the text of ss and nstat every 50 ms,
    the senders' packets with a snap length of 116 bytes, a table of intervals, and a figure. The
    kernel's configuration, patches and commit are there, too, with sysctls and the scenario.
    mail.txt is the draft of a plain-text mail. Of two runs it states the difference of their
    variants with its 95% interval, where there are repetitions.

    \b
    orchestrator evidence last -o evidence
    orchestrator evidence RUN RUN -o evidence --window 0s..3s
    """
    if len(runs) > MOST_RUNS:
        raise UsageError(f"evidence is of one run or two, not of {len(runs)}")
    settings = RunSettings(
        db,
        backends.DEFAULT,
        choose(LOCAL, backends.DEFAULT, None, (None, None, None)),
        unconfined,
    )
    span = None if window is None else window_ns("--window", window)
    request = EvidenceRequest(runs, folder, span, limit_bytes(limit), force)
    with RunEvents(quiet) as listener:
        made = evidence(request, settings, listener)
    terminal.line(str(made.folder / MAIL))
