"""The reference cards as docs/cards.md: grades of all controls, by criterion."""

from __future__ import annotations

from orchestrator.evaluation.card import library
from results.documents import card_library

_HEAD = """\
# Reference cards

Report cards of known congestion controls by `orchestrator evaluate NAME --quick --kernel KERNEL`
([evaluation](evaluation.md)). `orchestrator evaluate --library` prints the grades. `--baseline
library:cubic-6.12` compares a card with one of them, and the dashboard shows them all.
`tools/reference_cards.py` writes this page.

A grade is of one kernel and of few seeds. *Limits* is short for *meets with limits*, *open* for
*not decided*, and *n/a* for *not applicable*. There is no overall score.

"""


def markdown() -> str:
    """Return the page."""
    cards = {name: card_library.read(name).card for name in card_library.names()}
    names = list(cards)
    lines = [
        "| criterion | " + " | ".join(f"`{cards[name].candidate}`" for name in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for criterion, grades in library.grades(cards).items():
        words = (library.SHORT[grades[name]] if name in grades else "" for name in names)
        lines.append(f"| `{criterion}` | {' | '.join(words)} |")
    table = "\n".join(lines)
    rows = [
        f"| `{name}` | {', '.join(card.kernels)} | {card.runs} | {card.unfaithful} | "
        f"`{card.digest[:16]}` |"
        for name, card in cards.items()
    ]
    digests = "\n".join(
        [
            "| card | kernel | runs | unfaithful | digest of all runs |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )
    return (
        f"{_HEAD}{table}\n\n## Digests\n\nWho makes a card with the same kernel gets the same "
        f"digest of all runs, which `card.json` has.\n\n{digests}\n"
    )
