"""Report cards and matrices of harm, as `orchestrator evaluate` wrote them to folders.

A card may come from a stranger: it is checked by the model of its document, and shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flask import abort, current_app

from orchestrator.errors import UsageError
from results.contract.evaluations import Card, HarmMatrix
from results.documents import card_library
from results.documents.card_document import read_card, read_matrix
from web.http.cache import cached

FOLDER = "ORCHESTRATOR_CARDS"
"""Key of the application's configuration: the folder whose folders have cards."""

FILE = "card.json"
MATRIX_FILE = "matrix.json"
MOST_CARDS = 200
"""So many are listed, by the names of their folders."""


@dataclass(frozen=True)
class ListedCard:
    """A folder with a card; ``fault`` says why it is none."""

    name: str
    card: Card | None
    fault: str = ""


@dataclass(frozen=True)
class ListedMatrix:
    """A folder with a matrix of harm; ``fault`` says why it is none."""

    name: str
    matrix: HarmMatrix | None
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


def references() -> list[ListedCard]:
    """Return the reference cards of this program."""
    return [ListedCard(name, card_library.read(name).card) for name in card_library.names()]


def reference(name: str) -> Card:
    """Return a reference card; 404 if there is none of that name."""
    if name not in card_library.names():
        abort(404, f"there is no reference card {name}")
    return card_library.read(name).card


def matrices() -> list[ListedMatrix]:
    """Return the matrices of harm in the folder, and in the folders in it."""
    return [_matrix(name, path) for name, path in list(_paths(MATRIX_FILE))[:MOST_CARDS]]


def matrix(name: str) -> HarmMatrix:
    """Return the matrix of that name; 404 if there is none, or it is not valid."""
    paths = dict(reversed(list(_paths(MATRIX_FILE))))
    if name not in paths:
        abort(404, f"there is no matrix {name}")
    found = _matrix(name, paths[name])
    if found.matrix is None:
        abort(404, f"{name}: {found.fault}")
    return found.matrix


def _matrix(name: str, path: Path) -> ListedMatrix:
    def read() -> tuple[ListedMatrix, bool]:
        try:
            return ListedMatrix(name, read_matrix(path)), False
        except UsageError as error:
            return ListedMatrix(name, None, str(error)), False

    try:
        state = path.stat()
    except OSError as error:
        return ListedMatrix(name, None, str(error))
    found: ListedMatrix = cached(("matrix", path, state.st_mtime_ns, state.st_size), read)
    return found


def _paths(file_name: str = FILE) -> Iterator[tuple[str, Path]]:
    """Yield names and files of cards or matrices; names are those of folders, and never paths."""
    folder = Path(current_app.config[FOLDER])
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in (folder, *entries):
        file = path / file_name
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
