"""The reference cards beside each other, and what is out of date in them."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import UsageError
from orchestrator.evaluation import loading
from orchestrator.evaluation.card.fingerprints import fingerprints
from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, NOT_APPLICABLE, NOT_DECIDED
from orchestrator.units import listed
from results.contract.evaluations import Card, Grade
from results.documents import card_library

SHORT: Mapping[Grade, str] = {
    MEETS: "meets",
    LIMITED: "limits",
    DOES_NOT: "fails",
    NOT_DECIDED: "open",
    NOT_APPLICABLE: "n/a",
}
"""Grades in tables of many controls."""


def grades(cards: Mapping[str, Card]) -> dict[str, dict[str, Grade]]:
    """Return the grade of each card by criterion, in the order of the criteria."""
    found: dict[str, dict[str, Grade]] = {}
    for name, card in cards.items():
        for one in card.criteria:
            found.setdefault(one.name, {})[name] = one.grade
    ranks = {name: rank for rank, name in enumerate(loading.ORDER)}
    return dict(sorted(found.items(), key=lambda item: ranks.get(item[0], len(ranks))))


def text_of(card: Card) -> str:
    """Return the file of a card that becomes a reference card.

    Raises:
        UsageError: a criterion runs or asks something else by now, or the card does not tell.
    """
    now = fingerprints(loading.load_all())
    old = [
        one.name
        for one in card.criteria
        if one.fingerprint is None or one.fingerprint != now.get(one.name)
    ]
    if old:
        raise UsageError(
            f"the card of {card.candidate} does not have the present forms of {listed(old)}\n"
            "  fix: make it again; runs that are stored already are not run again"
        )
    return card_library.text(card, now)


def outdated() -> dict[str, list[str]]:
    """Return the criteria of each reference card that run or ask something else by now."""
    now = fingerprints(loading.load_all())
    return {
        name: changed
        for name in card_library.names()
        if (
            changed := [
                criterion
                for criterion, made in card_library.read(name).criteria.items()
                if now.get(criterion) != made
            ]
        )
    }
