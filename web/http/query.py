"""Reads the parameters of pages and of the API. Errors name the valid values.

Each function that ends in ``_of`` reads the text of one parameter. ``web.contract`` declares the
API's parameters by them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from werkzeug.datastructures import MultiDict

from orchestrator.errors import UsageError
from results.records.model import Status
from results.runs.page import MOST_CONDITIONS, PageRequest

POINTS = (10, 1000, 20_000)
"""The least, the default and the largest number of samples to which a field is reduced."""

BINS = (10, 2000)
"""The least and the largest number of bins."""

EVER_S = 1e9
"""Times in parameters are less than this many seconds."""

STATUSES: tuple[str, ...] = ("", *get_args(Status))
"""The values of ``status``; empty means any."""

Arguments = MultiDict[str, str]


@dataclass(frozen=True)
class TimeRange:
    """A part of the simulated time in seconds, open where an edge is None, and how many points.

    ``bins`` None means samples, not bins.
    """

    from_s: float | None
    to_s: float | None
    points: int
    bins: int | None = None


def check_names(args: Iterable[str], valid: Collection[str]) -> None:
    """Raise UsageError for a parameter that is not among the valid ones."""
    unknown = [name for name in args if name not in valid]
    if unknown:
        raise UsageError(f"no parameter {', '.join(unknown)}; there are {', '.join(valid)}")


def read_whole(args: Arguments, name: str, usual: int, least: int, most: int) -> int:
    """Return a parameter that is a whole number from least to most; UsageError when it is none."""
    return whole_of(name, args.get(name, str(usual)), least, most)


def whole_of(name: str, text: str, least: int, most: int) -> int:
    """Return a whole number from least to most; UsageError when the text is none."""
    number = _whole(text)
    if number is None or not least <= number <= most:
        raise UsageError(f"{name}={text} is not a whole number from {least} to {most}")
    return number


def fields_of(text: str) -> tuple[str, ...]:
    """Return different names, separated by commas."""
    return tuple(dict.fromkeys(name for name in text.split(",") if name))


def read_choice(args: Arguments, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that is one of the choices, of which the first is the usual one."""
    return choice_of(name, args.get(name, choices[0]), choices)


def choice_of(name: str, value: str, choices: Sequence[str]) -> str:
    """Return the value; UsageError when it is not one of the choices."""
    if value not in choices:
        raise UsageError(f"{name}={value} is not one of {', '.join(choices)}")
    return value


def read_wanted(args: Arguments, first: int, most: int, facets: bool = False) -> PageRequest:
    """Return the runs that ``where``, ``q``, ``status`` and ``sort`` ask for, cut to a page."""
    status = read_choice(args, "status", STATUSES)
    where, searched, sort = args.getlist("where"), args.get("q", ""), args.get("sort", "")
    return wanted_of(where, searched, status, sort, (first, most), facets)


def wanted_of(
    where: Sequence[str], searched: str, status: str, sort: str, page: tuple[int, int], facets: bool
) -> PageRequest:
    """Return which runs are wanted; ``page`` is the place of the first, and how many."""
    conditions = [text for text in where if text.strip()]
    if len(conditions) > MOST_CONDITIONS:
        raise UsageError(f"where: give at most {MOST_CONDITIONS} conditions")
    return PageRequest(
        where=conditions,
        words=searched[:200],
        status=status,
        sort=sort[:500],
        first=page[0],
        most=page[1],
        facets=facets,
    )


def indices_of(
    name: str, texts: Sequence[str], names: Sequence[str], usual: Sequence[int]
) -> list[int]:
    """Return the indices that the texts give as names or indices, or the usual ones."""
    chosen = []
    for text in texts:
        index = names.index(text) if text in names else _whole(text)
        if index is not None and index < len(names):
            chosen.append(index)
        else:
            raise UsageError(f"{name}={text} is not one of {', '.join(names) or 'none'}")
    return list(dict.fromkeys(chosen)) or list(usual)


def seconds_of(name: str, text: str) -> float:
    """Return a number of seconds; UsageError when the text is none, or is 1e9 or more."""
    try:
        value = math.nan if "_" in text or not text.isascii() else float(text)
    except ValueError:
        value = math.nan
    if not abs(value) < EVER_S:  # also not a number
        raise UsageError(f"{name}={text} is not a number of seconds, such as {name}=12.5")
    return value


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
