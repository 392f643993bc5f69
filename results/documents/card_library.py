"""The library of reference cards: report cards of known congestion controls, kept with the program.

A file of the folder ``cards`` has a card without what only the store of its runs can use: their ids
and commands. Its digest is still that of all runs, so that anyone who makes the card compares it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown
from results.contract.base import ResponseModel
from results.contract.evaluations import Card

FOLDER = Path(__file__).resolve().parent / "cards"
"""In the package, and so in each wheel."""

PREFIX = "library:"
"""Before the name of a reference card, where a file or a control may be named, too."""

DIGITS = 7
"""Significant digits of values, which are means over seeds with wide intervals."""


class LibraryCard(ResponseModel):
    """A reference card."""

    criteria: dict[str, str] = Field(
        description="a hash of each criterion when the card was made: of what is run and asked"
    )
    card: Card


def names() -> list[str]:
    """Return the names of all reference cards, such as ``cubic-6.12``: control and kernel."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def read(name: str) -> LibraryCard:
    """Return a reference card.

    Raises:
        UsageError: there is none of that name.
    """
    every = names()
    if name not in every:
        raise UsageError(
            f"{PREFIX}{name}: there is no reference card {shown(name)}{suggest(name, every)}; "
            f"there are {listed(every) or 'none'}"
        )
    try:
        return LibraryCard.model_validate_json((FOLDER / f"{name}.json").read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{PREFIX}{name}: cannot be read: {error}") from error


def name_of(card: Card) -> str:
    """Return the name of a card in the library, of its control and the series of its kernel.

    Raises:
        UsageError: its runs have no kernel, or several.
    """
    if len(card.kernels) != 1:
        raise UsageError(f"a reference card has one kernel, and this has {listed(card.kernels)}")
    series = ".".join(card.kernels[0].split(".")[:2])
    return f"{card.candidate}-{series}"


def text(card: Card, criteria: Mapping[str, str]) -> str:
    """Return the file of a reference card, with a line for each criterion."""
    document = card.model_dump(mode="json", by_alias=True)
    parts = [_line(_brief(card.candidate, one)) for one in document.pop("criteria")]
    hashes = {one.name: criteria[one.name] for one in card.criteria}
    document["changes"] = None
    head = _line(document)[:-1]
    body = ",\n".join(parts)
    return f'{{"criteria":{_line(hashes)},\n"card":{head},"criteria":[\n{body}\n]}}}}\n'


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _brief(control: str, criterion: dict[str, Any]) -> dict[str, Any]:
    """Return a criterion without ids of runs, with one command, and with rounded values.

    Of other controls those remain that bounds are factors of. They have cards of their own.
    """
    for row in criterion["rows"]:
        for cell in row["cells"]:
            cell["command"] = ""
            cell["others"] = [one for one in cell["others"] if one["control"] == cell["baseline"]]
            for one in (cell["candidate"], *cell["others"]):
                one["runs"] = []
                one |= {key: _rounded(one[key]) for key in ("mean", "low", "high")}
    command = f"orchestrator evaluate {control} --only {criterion['name']} -o card"
    return {**criterion, "explained": None, "scenarios": [], "command": command}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
