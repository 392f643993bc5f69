"""``orchestrator merge``: take the runs of other results databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.application.stored.merge import merge
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from results.wording import quantities

if TYPE_CHECKING:
    from results.store.upkeep.merging import MergedSource


@click.command()
@click.argument("stores", metavar="STORE...", nargs=-1, type=click.Path(path_type=Path))
@shared.as_json
@shared.database
def command(stores: tuple[Path, ...], as_json: bool, db: Path) -> int:
    """Take all runs of other results databases, with samples, judgements, notes and tags.

    Runs that are there already, by their id and content, are left as they are. So are runs that
    were removed here. Runs that have not ended are not taken. Nothing in the other files is
    believed: their checksums are compared first, and a file that is damaged, or of a newer program,
    is refused. A run with values that cannot have been measured is refused by its id, and the exit
    status is 1. All others are taken, or none. The other files stay as they are.

    \b
    orchestrator merge colleague.db
    orchestrator merge node1.db node2.db --db all.db
    """
    with RunEvents(quiet=False) as listener:
        merged = merge(stores, db, listener)
    if as_json:
        terminal.print_json(merged.document())
    else:
        _print(merged.sources)
    for run in merged.refused:
        terminal.line(f"error: {run.source}: run {run.run_id} was refused: {run.reason}", err=True)
    return merged.status


def _print(merged: Sequence[MergedSource]) -> None:
    for source in merged:
        words = [f"{quantities.plural(len(source.taken), 'run')} taken"]
        more = {
            "there already": source.there,
            "removed here before": source.removed,
            "not ended": source.running,
        }
        words += [f"{len(runs)} {what}" for what, runs in more.items() if runs]
        words += [f"{len(source.refused)} refused"] if source.refused else []
        terminal.line(f"{source.source}: {', '.join(words)}")
