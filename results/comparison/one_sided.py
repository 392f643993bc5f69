"""Two values in short: what differs, and which parts one of them has alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from results.comparison.runs import DifferingValue, differing, leaves, parts_of
from results.contract.base import json_ready


@dataclass(frozen=True)
class OneSided:
    """A part, by its path as of ``--set``, that one of two values has alone.

    It has no value or several. ``side`` is 0 for the first of the two and 1 for the second.
    """

    path: str
    side: int


def in_short(one: Any, other: Any) -> list[DifferingValue | OneSided]:
    """Return the values that differ, as ``differing``, with one element for a whole part."""
    return list(_in_short(json_ready(one), json_ready(other), ""))


def _in_short(one: Any, other: Any, path: str) -> Iterator[DifferingValue | OneSided]:
    first, second = parts_of(one), parts_of(other)
    if first is None or second is None:
        yield from (
            DifferingValue(_joined(path, each.path), each.values)
            for each in differing([one, other])
        )
        return
    for key in dict.fromkeys([*first, *second]):
        below = _joined(path, key)
        if key in first and key in second:
            yield from _in_short(first[key], second[key], below)
        elif key in first:
            yield _alone(below, first[key], 0)
        else:
            yield _alone(below, second[key], 1)


def _joined(path: str, rest: str) -> str:
    return f"{path}.{rest}" if path and rest else path or rest


def _alone(path: str, value: Any, side: int) -> DifferingValue | OneSided:
    """Return what one side has alone, with its value if it is a single one."""
    (first, single), *more = leaves(value, path)
    if more or parts_of(single) is not None:
        return OneSided(path, side)
    return DifferingValue(first, [None, single] if side else [single, None])
