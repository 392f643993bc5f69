"""Prints the reference cards beside each other."""

from __future__ import annotations

from typing import Any

from orchestrator.cli.render import terminal
from orchestrator.evaluation.card import library
from orchestrator.units import listed
from results.contract import evaluations as contract
from results.contract.base import SCHEMA
from results.documents import card_library
from results.wording import quantities

BESIDE = 5
"""Cards beside each other, so that they fit a terminal."""


def show() -> None:
    """Print the grade of each criterion on each card, and what is out of date."""
    cards = {name: card_library.read(name).card for name in card_library.names()}
    out = terminal.console()
    names = list(cards)
    for first in range(0, len(names), BESIDE):
        some = {name: cards[name] for name in names[first : first + BESIDE]}
        rows = [
            [criterion, *(library.SHORT[grades[name]] if name in grades else "" for name in some)]
            for criterion, grades in library.grades(some).items()
        ]
        out.print(terminal.table(["criterion", *some], rows))
    for name, changed in library.outdated().items():
        terminal.print_line(f"{name}: is of earlier forms of {listed(changed)}", out)
    number = quantities.plural(len(cards), "reference card")
    terminal.print_line(f"{number}; --baseline {card_library.PREFIX}NAME compares with one", out)


def document() -> dict[str, Any]:
    """Return the same as a document."""
    old = library.outdated()
    return contract.CardLibrary(
        schema=SCHEMA,
        cards=[
            contract.ReferenceCard(
                name=name,
                candidate=card.candidate,
                length=card.length,
                kernels=card.kernels,
                runs=card.runs,
                unfaithful=card.unfaithful,
                digest=card.digest,
                grades={one.name: one.grade for one in card.criteria},
                outdated=old.get(name, []),
            )
            for name in card_library.names()
            for card in [card_library.read(name).card]
        ],
    ).model_dump(mode="json", by_alias=True)
