"""Reads the parameters of the API's series. Errors name the valid values."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args

from werkzeug.datastructures import MultiDict

from orchestrator.errors import UsageError
from results.listing import MOST_CONDITIONS, Wanted
from results.model import Status

POINTS = (10, 1000, 20_000)
"""The least, the default and the largest number of samples to which a field is reduced."""

BINS = (10, 2000)
"""The least and the largest number of bins."""

Arguments = MultiDict[str, str]


@dataclass(frozen=True)
class Range:
    """A part of the simulated time in seconds, open where an edge is None, and how many points.

    ``bins`` None means samples, not bins.
    """

    from_s: float | None
    to_s: float | None
    points: int
    bins: int | None = None


def check_names(args: Arguments, valid: Collection[str]) -> None:
    """Raise UsageError for a parameter that is not among the valid ones."""
    unknown = [name for name in args if name not in valid]
    if unknown:
        raise UsageError(f"no parameter {', '.join(unknown)}; there are {', '.join(valid)}")


def read_range(args: Arguments) -> Range:
    """Return ``from``, ``to`` (s), ``points`` and ``bins``; UsageError when one is not valid."""
    from_s, to_s = (_seconds(args, name) for name in ("from", "to"))
    if from_s is not None and to_s is not None and from_s >= to_s:
        raise UsageError(f"from={from_s:g} is not before to={to_s:g}")
    least, usual, most = POINTS
    points = read_whole(args, "points", usual, least, most)
    bins = read_whole(args, "bins", BINS[0], *BINS) if "bins" in args else None
    return Range(from_s, to_s, points, bins)


def read_whole(args: Arguments, name: str, usual: int, least: int, most: int) -> int:
    """Return a whole number from least to most; UsageError when it is none."""
    text = args.get(name, str(usual))
    number = _whole(text)
    if number is None or not least <= number <= most:
        raise UsageError(f"{name}={text} is not a whole number from {least} to {most}")
    return number


def read_fields(args: Arguments, usual: Sequence[str]) -> list[str]:
    """Return the names in ``fields``, separated by commas, or the usual ones."""
    names = [name for name in args.get("fields", "").split(",") if name]
    return list(dict.fromkeys(names)) or list(usual)


def read_choice(args: Arguments, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that is one of the choices, of which the first is the usual one."""
    value = args.get(name, choices[0])
    if value not in choices:
        raise UsageError(f"{name}={value} is not one of {', '.join(choices)}")
    return value


def read_wanted(args: Arguments, first: int, most: int, facets: bool = False) -> Wanted:
    """Return the runs that ``where``, ``q``, ``status`` and ``sort`` ask for, cut to a page."""
    where = [text for text in args.getlist("where") if text.strip()]
    if len(where) > MOST_CONDITIONS:
        raise UsageError(f"where: give at most {MOST_CONDITIONS} conditions")
    return Wanted(
        where=where,
        words=args.get("q", "")[:200],
        status=read_choice(args, "status", ("", *get_args(Status))),
        sort=args.get("sort", "")[:500],
        first=first,
        most=most,
        facets=facets,
    )


def read_indices(
    args: Arguments, name: str, names: Sequence[str], usual: Sequence[int]
) -> list[int]:
    """Return the indices that the (repeatable) parameter gives as names or indices."""
    chosen = []
    for text in args.getlist(name):
        index = names.index(text) if text in names else _whole(text)
        if index is not None and index < len(names):
            chosen.append(index)
        else:
            raise UsageError(f"{name}={text} is not one of {', '.join(names) or 'none'}")
    return list(dict.fromkeys(chosen)) or list(usual)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _seconds(args: Arguments, name: str) -> float | None:
    text = args.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) < 1e9:  # also not a number
        raise UsageError(f"{name}={text} is not a number of seconds, such as {name}=12.5")
    return value
