#!/usr/bin/env python3
"""Keep report cards as reference cards, and write docs/cards.md of all of them.

usage: reference_cards.py [--check] [CARD...]

A CARD is the folder of a card that ``orchestrator evaluate`` wrote. With --check nothing is
written. Status 1 then says that the page is not what the reference cards make.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/cards.md"


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    sys.path.insert(0, str(ROOT))
    from orchestrator.errors import UsageError
    from orchestrator.evaluation.card import library, library_page
    from results.documents import card_library
    from results.documents.card_document import read_card

    check = "--check" in arguments
    folders = [Path(word) for word in arguments if word != "--check"]
    try:
        for folder in [] if check else folders:
            card = read_card(folder / "card.json")
            file = card_library.FOLDER / f"{card_library.name_of(card)}.json"
            file.write_text(library.text_of(card), "utf-8")
            sys.stdout.write(f"{file}\n")
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    made = library_page.markdown()
    if check:
        return int(PAGE.read_text("utf-8") != made)
    PAGE.write_text(made, "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
