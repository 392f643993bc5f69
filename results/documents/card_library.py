"""The library of reference cards: report cards of known congestion controls, kept with the program.

A file of the folder ``cards`` has a card without what only the store of its runs can use: their ids
and commands. Its digest is still that of all runs, so that anyone who makes the card compares it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
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

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_RELEASE = re.compile(r"([0-9]+\.[0-9]+)(\.[0-9]+)?")
"""Of a kernel that `--kernel` finds by its series. Patched ones and trees have more behind it."""

_ROUNDING = {"mean": ROUND_HALF_EVEN, "low": ROUND_FLOOR, "high": ROUND_CEILING}
"""Intervals are rounded outwards. Some are a single value, from which its rounded form would be
apart: a control would then differ from its own card."""


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
        UsageError: it is of a user's module, or its runs have several kernels, none, or one that
            only some have.
    """
    if card.module_sha256 is not None or not _NAME.fullmatch(card.candidate):
        raise UsageError(
            f"{shown(card.candidate)}: a reference card is of a control that anyone can name, "
            "and not of a module's folder"
        )
    return f"{card.candidate}-{_series(card)}"


def _series(card: Card) -> str:
    """Return the series of a card's kernel, such as 6.12, by which `--kernel` finds it."""
    if len(card.kernels) != 1 or not (found := _RELEASE.fullmatch(card.kernels[0])):
        raise UsageError(
            "a reference card has one kernel, of a release such as 6.12.117, and this has "
            f"{listed(card.kernels) or 'none'}"
        )
    return found[1]


def text(card: Card, criteria: Mapping[str, str]) -> str:
    """Return the file of a reference card, with a line for each criterion."""
    document = card.model_dump(mode="json", by_alias=True)
    parts = [_line(_brief(card, one)) for one in document.pop("criteria")]
    hashes = {one.name: criteria[one.name] for one in card.criteria}
    document["changes"] = None
    head = _line(document)[:-1]
    body = ",\n".join(parts)
    return f'{{"criteria":{_line(hashes)},\n"card":{head},"criteria":[\n{body}\n]}}}}\n'


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _brief(card: Card, criterion: dict[str, Any]) -> dict[str, Any]:
    """Return a criterion without ids of runs, with one command, and with rounded values.

    Of other controls those remain that bounds are factors of. They have cards of their own.
    """
    for row in criterion["rows"]:
        for cell in row["cells"]:
            cell["command"] = ""
            cell["others"] = [one for one in cell["others"] if one["control"] == cell["baseline"]]
            for one in (cell["candidate"], *cell["others"]):
                one["runs"] = []
                one |= {key: _rounded(one[key], how) for key, how in _ROUNDING.items()}
    command = _command(card, criterion["name"])
    left_out: dict[str, Any] = {"explained": None, "scenarios": [], "fingerprint": None}
    return {**criterion, **left_out, "command": command}


def _command(card: Card, criterion: str) -> str:
    """Return the command line that makes a criterion's part of a card again, anywhere."""
    words = ["orchestrator", "evaluate", card.candidate, "--against", ",".join(card.against)]
    words += [f"--{card.length}", "--only", criterion, "--kernel", _series(card), "-o", "card"]
    return shlex.join(words)


def _rounded(value: float | None, rounding: str) -> float | None:
    if value is None:
        return None
    return float(Context(prec=DIGITS, rounding=rounding).create_decimal(Decimal(repr(value))))
