"""``orchestrator runs``: list the stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _completion, _options, _output, _report, _selection

STATUSES = ("running", "ok", "failed", "interrupted")


@click.command()
@_options.database
@click.option(
    "--experiment",
    metavar="NAME",
    shell_complete=_completion.experiments,
    help="List only the runs of this experiment.",
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
@_options.as_json
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
    from results.store import Store

    with Store.open_read_only(db) as store:
        listing = store.listing(experiment)
    runs = listing["runs"]
    runs = _selection.matching(runs, conditions)
    if since is not None:
        runs = _selection.since(runs, since)
    if statuses:
        runs = [run for run in runs if run["status"] in statuses]
    if sort is not None:
        runs = _selection.in_order(runs, sort)
    if as_json:
        _output.print_json({**listing, "runs": runs})
        return
    _report.print_list(runs, _output.console(), scenarios=True)
