"""``orchestrator runs``: list the stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from orchestrator.cli.options import completion, experiment_argument, run_selection, shared
from orchestrator.cli.render import run_text, terminal
from results.documents import run_document
from results.experiment.experiments import name_of
from results.runs import listing
from results.runs.model import ListedRun
from results.store.store import Store

STATUSES = ("running", "ok", "failed", "interrupted")


@click.command()
@shared.database
@click.option(
    "--experiment",
    metavar="NAME|NAME@HASH",
    shell_complete=completion.experiments,
    help="List only the runs of this experiment; of NAME, those of all that have the name.",
)
@click.option(
    "--where",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help="List only the runs that fit. Repeatable.",
)
@click.option(
    "--since", metavar="TIME", help="List only runs since then, such as 2d or 2026-11-20."
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(STATUSES),
    multiple=True,
    help="List only runs with this status. Repeatable.",
)
@click.option(
    "--sort", metavar="NAME", help="Sort by a field or metric; -NAME from the largest down."
)
@shared.as_json
def command(
    db: Path,
    experiment: str | None,
    conditions: tuple[str, ...],
    since: str | None,
    statuses: tuple[str, ...],
    sort: str | None,
    as_json: bool,
) -> None:
    """List the stored runs, oldest first.

    CONDITION compares by =, !=, <, <=, >, >= and combines by and, or, not and parentheses. It names
    fields of the list, metrics, values of the matrix (by path or its end), and congestion controls.
    Values may have units. A wrong name is answered with all names.

    \b
    orchestrator runs --where 'congestion=westwoodplus and jain_index<0.7'
    orchestrator runs --where 'queue.limit=100p and not verdict=faithful' --since 2d
    orchestrator runs --status failed --status interrupted
    orchestrator runs --where 'goodput_bps>5mbit' --sort -goodput_bps
    """
    with Store.open_read_only(db) as store:
        name = None if experiment is None else name_of(experiment)
        runs: Sequence[ListedRun] = listing.read(store, name)
        if experiment is not None:
            ids = experiment_argument.run_ids(store, experiment)
            runs = [run for run in runs if run.row.id in ids]
    runs = run_selection.matching(runs, conditions)
    if since is not None:
        runs = run_selection.since(runs, since)
    if statuses:
        runs = [run for run in runs if run.row.status in statuses]
    if sort is not None:
        runs = run_selection.in_order(runs, sort)
    if as_json:
        terminal.print_json(run_document.list_document(runs))
        return
    run_text.print_list(runs, terminal.console(), scenarios=True)
