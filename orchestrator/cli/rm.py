"""``orchestrator rm``: remove stored runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from orchestrator.cli.options import completion, experiment_argument, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import UsageError
from results.store.store import Store
from results.store.upkeep.housekeeping import remove_runs
from results.wording import quantities

_MOST_LISTED = 10


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completion.runs)
@click.option(
    "--experiment",
    metavar=experiment_argument.ARGUMENT,
    help="Remove all runs of this experiment: NAME, NAME@HASH or a scenario file.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared.database
def command(runs: tuple[str, ...], experiment: str | None, yes: bool, db: Path) -> None:
    """Remove stored runs with all samples, metrics, judgements, notes and tags.

    RUN is an id, a unique start of one, or "last". All runs that are named are removed, or none: a
    run that is running is refused. Without --yes it asks, and needs a terminal. A removed run
    cannot be restored, and its id is never used again. The file keeps its size until
    `orchestrator gc`.

    \b
    orchestrator rm 20261120-1015 last
    orchestrator rm --experiment bbr-vs-cubic --yes
    """
    if bool(runs) == (experiment is not None):
        raise UsageError("name runs, or an experiment with --experiment")
    if not yes and not sys.stdin.isatty():
        raise UsageError("rm asks before it removes, and this is no terminal: give --yes")

    with Store.open_existing(db, StatusLine().say) as store:
        if experiment is None:
            ids = list(dict.fromkeys(store.resolve(run) for run in runs))
        else:
            ids = [row.id for row in experiment_argument.the_only(store, experiment).rows]
        if not yes and not _agreed(store, ids):
            terminal.line("nothing was removed", err=True)
            return
        remove_runs(store, ids)
    terminal.line(f"{quantities.plural(len(ids), 'run')} removed")


def _agreed(store: Store, ids: Sequence[str]) -> bool:
    """Show what is to be removed and ask on the terminal."""
    rows = [store.load(run_id).row for run_id in ids]
    remarks = store.remarks()
    for row in rows[:_MOST_LISTED]:
        marked = " (has notes or tags)" if row.id in remarks else ""
        terminal.line(f"{row.id}  {row.experiment}  {row.status}{marked}", err=True)
    if len(rows) > _MOST_LISTED:
        terminal.line(f"and {len(rows) - _MOST_LISTED} more", err=True)
    counts = Counter(row.status for row in rows)
    words = ", ".join(f"{count} {status}" for status, count in counts.items())
    marked_runs = sum(run_id in remarks for run_id in ids)
    words += f", {marked_runs} with notes or tags" if marked_runs else ""
    question = f"remove {quantities.plural(len(ids), 'run')} ({words}) for ever?"
    return click.confirm(question, err=True)
