"""``orchestrator tag``: tag stored runs."""

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
    "words", metavar="RUN... TAG", nargs=-1, required=True, shell_complete=completion.runs
)
@click.option("--remove", is_flag=True, help="Remove the tag.")
@shared.database
def command(words: tuple[str, ...], remove: bool, db: Path) -> None:
    """Add a tag to stored runs, beside what is stored of them.

    RUN is an id, a unique start of one, or "last". A tag is a word of up to 64 letters, digits and
    . _ : + -. Conditions select by it.

    \b
    orchestrator tag 20261120-1015 last paper
    orchestrator runs --where tag=paper
    orchestrator tag last paper --remove
    """
    if len(words) < 2:
        raise UsageError("name one or more runs, and then the tag")
    *runs, tag = words
    with Store.open_existing(db, StatusLine().say) as store:
        (housekeeping.remove_tag if remove else housekeeping.add_tag)(store, runs, tag)
    done = "removed from" if remove else "added to"
    terminal.line(f"tag {tag} {done} {quantities.plural(len(runs), 'run')}")
