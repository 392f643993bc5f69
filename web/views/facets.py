"""Counts of runs beside their list: a click adds a condition to the list, or takes it away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from results.runs.facets import Facets

HEADINGS = {
    "status": "Status", "verdict": "Verdict", "congestion": "Congestion control",
    "experiment": "Experiment", "tag": "Tag",
}  # fmt: skip

MOST = 12
"""Values of a group on the page."""

_OR = re.compile(r"\bor\b|[\"']")


@dataclass(frozen=True)
class FacetValue:
    """A value, its number of runs, the condition that a click leads to, and whether it is on."""

    value: str
    runs: int
    where: str | None
    on: bool


@dataclass(frozen=True)
class Facet:
    """The values of a field; ``more`` counts those that are not on the page."""

    heading: str
    choices: Sequence[FacetValue]
    more: int


def joined(where: Sequence[str]) -> str:
    """Return one condition for several that all hold."""
    if len(where) < 2:
        return "".join(where)
    return " and ".join(
        f"({condition})" if _OR.search(condition) else condition for condition in where
    )


def groups(facets: Facets, where: Sequence[str]) -> list[Facet]:
    """Return the groups that have a value; ``where`` are the conditions of the list."""
    present = joined(where).strip()
    # Text with `or` or a quote is not taken apart: then a click only adds.
    parts = [] if _OR.search(present) or "(" in present else re.split(r"\s+and\s+", present)
    facet_groups = []
    for name, heading in HEADINGS.items():
        counts = facets.get(name, ())
        choices = []
        for count in counts[:MOST]:
            on = count.condition in parts
            kept = [part for part in parts if part != count.condition]
            after = " and ".join(kept) if on else _and(present, count.condition)
            choices.append(FacetValue(count.value, count.runs, after, on))
        if choices:
            facet_groups.append(Facet(heading, choices, len(counts) - len(choices)))
    return facet_groups


def _and(present: str, condition: str | None) -> str | None:
    return condition if not present or condition is None else joined([present, condition])
