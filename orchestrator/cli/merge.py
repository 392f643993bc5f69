"""``orchestrator merge``: take the runs of other results databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import plaintext
from orchestrator.cli import _options, _output
from orchestrator.cli._status import StatusLine
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from results.merging import Merged


@click.command()
@click.argument("stores", metavar="STORE...", nargs=-1, type=click.Path(path_type=Path))
@_options.as_json
@_options.database
def command(stores: tuple[Path, ...], as_json: bool, db: Path) -> None:
    """Take all runs of other results databases, with samples, judgements, notes and tags.

    Runs that are there already, by their id and content, are left as they are. So are runs that
    were removed here. Runs that have not ended are not taken. Nothing in the other files is
    believed: their checksums are compared first, and a file that is damaged, malformed or of a
    newer program is refused. Then all runs are taken, or none. The other files stay as they are.

    \b
    orchestrator merge colleague.db
    orchestrator merge node1.db node2.db --db all.db
    """
    if not stores:
        raise UsageError("name at least one results database")
    from results.merging import merge

    merged = merge(db, stores, StatusLine().say)
    if as_json:
        _output.print_json(
            {
                "schema": 1,
                "stores": [{**vars(each), "source": str(each.source)} for each in merged],
            }
        )
        return
    _print(merged)


def _print(merged: Sequence[Merged]) -> None:
    for each in merged:
        words = [f"{_output.plural(len(each.taken), 'run')} taken"]
        more = {
            "there already": each.there,
            "removed here before": each.removed,
            "not ended": each.running,
        }
        words += [f"{len(runs)} {what}" for what, runs in more.items() if runs]
        click.echo(f"{plaintext.visible(str(each.source))}: {', '.join(words)}")
