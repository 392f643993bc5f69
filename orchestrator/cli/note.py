"""``orchestrator note``: write notes on stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import UsageError
from results.store.store import Store
from results.store.upkeep import housekeeping
from results.wording import quantities


@click.command()
@click.argument(
    "words", metavar="RUN... TEXT", nargs=-1, required=True, shell_complete=completion.runs
)
@click.option(
    "--remove", type=click.IntRange(1), metavar="NUMBER", help="Remove this note; give no TEXT."
)
@shared.database
def command(words: tuple[str, ...], remove: int | None, db: Path) -> None:
    """Add a note to stored runs, beside what is stored of them.

    RUN is an id, a unique start of one, or "last". `show` prints the notes with their numbers;
    `runs --json` and the dashboard have them, too. A note is never changed, only removed.

    \b
    orchestrator note last 'the queue was too short'
    orchestrator note last --remove 1
    """
    if remove is None and len(words) < 2:
        raise UsageError("name one or more runs, and then give the note as one word in quotes")
    with Store.open_existing(db, StatusLine().say) as store:
        if remove is not None:
            housekeeping.remove_note(store, words, remove)
        else:
            *runs, text = words
            if text in {row.id for row in store.list_runs()}:
                raise UsageError(f"the last word is the note, and {text} is a run")
            housekeeping.add_note(store, runs, text)
    count = len(words) - (remove is None)
    done = "added to" if remove is None else "removed from"
    terminal.line(f"note {done} {quantities.plural(count, 'run')}")
