"""Report cards of congestion controls, as `orchestrator evaluate` wrote them to folders.

A card may come from a stranger: it is checked by the model of its document, and shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flask import abort, current_app

from orchestrator.errors import UsageError
from results.contract.evaluations import Card
from results.documents.card_document import read_card
from web.http.cache import cached

FOLDER = "ORCHESTRATOR_CARDS"
"""Key of the application's configuration: the folder whose folders have cards."""

FILE = "card.json"
MOST_CARDS = 200
"""So many are listed, by the names of their folders."""


@dataclass(frozen=True)
class ListedCard:
    """A folder with a card; ``fault`` says why it is none."""

    name: str
    card: Card | None
    fault: str = ""


def listed() -> list[ListedCard]:
    """Return the cards of the folder, and of the folders in it."""
    return [_listed(name, path) for name, path in list(_paths())[:MOST_CARDS]]


def named(name: str) -> Card:
    """Return the card of that name; 404 if there is none, or it is not valid."""
    paths = dict(reversed(list(_paths())))  # the first of a name counts
    if name not in paths:
        abort(404, f"there is no card {name}")
    found = _listed(name, paths[name])
    if found.card is None:
        abort(404, f"{name}: {found.fault}")
    return found.card


def _paths() -> Iterator[tuple[str, Path]]:
    """Yield the names and files of cards; names are those of folders, and never paths."""
    folder = Path(current_app.config[FOLDER])
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in (folder, *entries):
        file = path / FILE
        if file.is_file() and not (path.is_symlink() or file.is_symlink()):
            yield path.resolve().name, file


def _listed(name: str, path: Path) -> ListedCard:
    def read() -> tuple[ListedCard, bool]:
        try:
            return ListedCard(name, read_card(path)), False
        except UsageError as error:
            return ListedCard(name, None, str(error)), False

    try:
        state = path.stat()
    except OSError as error:
        return ListedCard(name, None, str(error))
    found: ListedCard = cached(("card", path, state.st_mtime_ns, state.st_size), read)
    return found
