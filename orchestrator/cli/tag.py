"""``orchestrator tag``: tag stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _completion, _options, _output
from orchestrator.cli._status import StatusLine
from orchestrator.errors import UsageError


@click.command()
@click.argument(
    "words", metavar="RUN... TAG", nargs=-1, required=True, shell_complete=_completion.runs
)
@click.option("--remove", is_flag=True, help="Remove the tag.")
@_options.database
def command(words: tuple[str, ...], remove: bool, db: Path) -> None:
    """Add a tag to stored runs, beside what is stored of them.

    RUN is an id, a unique start of one, or "last". A tag is a word of up to 64 letters, digits and
    . _ : + -. Conditions select by it.

    \b
    orchestrator tag 20261120-1015 last paper
    orchestrator runs --where tag=paper
    orchestrator tag last paper --remove
    """
    from results import housekeeping
    from results.store import Store

    if len(words) < 2:
        raise UsageError("name one or more runs, and then the tag")
    *runs, tag = words
    with Store.open_existing(db, StatusLine().say) as store:
        (housekeeping.remove_tag if remove else housekeeping.add_tag)(store, runs, tag)
    done = "removed from" if remove else "added to"
    click.echo(f"tag {tag} {done} {_output.plural(len(runs), 'run')}")
