"""Axes of an experiment: short labels for their paths, and numbers for their values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from orchestrator.units import (
    FREQUENCY_UNITS_S,
    RATE_UNITS,
    SIZE_UNITS,
    TEXT_PATHS,
    TIME_UNITS_NS,
)
from results.records.model import Variant, VariantSets

_QUANTITY = re.compile(r"(-?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([^\s]*)")
_TIMES_S = {unit: ns / 1e9 for unit, ns in TIME_UNITS_NS.items()}
_UNITS: Sequence[tuple[str, Mapping[str, float]]] = (
    ("bit/s", RATE_UNITS),
    ("s", _TIMES_S),
    ("bytes", SIZE_UNITS),
    ("1/s", {unit: 1 / every_s for unit, every_s in FREQUENCY_UNITS_S.items()}),
    ("packets", {"p": 1}),
    ("BDP", {"bdp": 1}),
    ("BDP (min)", {"bdp(min)": 1}),
    ("1", {"%": 0.01, "": 1}),
)


@dataclass(frozen=True)
class Axis:
    """An axis: its path, a label that no other axis has, and its values in their order.

    ``sets`` of an axis with named values has what each sets, by name and path. ``path`` is then its
    name. ``numbers`` has the values in the unit ``unit`` if all are quantities of one kind, else
    None.
    """

    path: str
    label: str
    values: tuple[Any, ...]
    numbers: tuple[float, ...] | None
    unit: str | None
    sets: VariantSets | None = None

    @property
    def paths(self) -> list[str]:
        """The paths that its values set."""
        if self.sets is None:
            return [self.path]
        return list(dict.fromkeys(path for values in self.sets.values() for path in values))

    def with_values(self, chosen: Sequence[Any]) -> Axis:
        """Return the axis with these of its values alone."""
        wanted = {key(value) for value in chosen}
        places = [index for index, value in enumerate(self.values) if key(value) in wanted]
        return replace(
            self,
            values=tuple(self.values[index] for index in places),
            numbers=None if self.numbers is None else tuple(self.numbers[at] for at in places),
        )

    @property
    def geometric(self) -> bool:
        """Tell whether its values are better spread over a logarithmic scale."""
        if self.numbers is None or min(self.numbers) <= 0:
            return False
        return max(self.numbers) >= 8 * min(self.numbers)


Where = dict[str, Any] | str
"""Which variants to keep: values by axis, or a condition of ``results.query.conditions``."""


def conditions(where: Where) -> tuple[str, ...]:
    """Return the conditions: of values by axis ``AXIS=VALUE``, and a text as it is."""
    if isinstance(where, str):
        return (where,)
    return tuple(f"{axis}={shown(value)}" for axis, value in where.items())


def with_labels(variant: Variant, there: Sequence[Axis]) -> dict[str, Any]:
    """Return the values of a variant on these axes by the axes' labels."""
    return {axis.label: variant[axis.path] for axis in there if axis.path in variant}


def varying(there: Sequence[Axis]) -> list[Axis]:
    """Return the axes that have several values."""
    return [axis for axis in there if len(axis.values) > 1]


def differing(there: Sequence[Axis], variants: Sequence[Variant]) -> list[Axis]:
    """Return the axes on which the variants differ; no value is a value of its own."""
    return [
        axis
        for axis in there
        if len({key(variant[axis.path]) if axis.path in variant else None for variant in variants})
        > 1
    ]


def distinguishing(
    there: Sequence[Axis], variants: Sequence[Variant], given: Sequence[str] = ()
) -> list[Axis]:
    """Return the axes that tell variants apart, beside those whose paths are ``given``.

    An axis with one value, which some variants do not have (``include`` in a matrix makes it), is
    left out where the other axes say which variants these are. Axes that are given count for this
    only if it is an axis of numbers, so that different kinds are never joined by a line.
    """
    free = [axis for axis in differing(there, variants) if axis.path not in given]
    several = {
        axis.path
        for axis in free
        if len({key(variant[axis.path]) for variant in variants if axis.path in variant}) > 1
    }

    def told(axis: Axis) -> bool:
        by = sorted(several) + (list(given) if axis.numbers is not None else [])
        places = {
            key([variant.get(path) for path in by]) for variant in variants if axis.path in variant
        }
        return not any(
            key([variant.get(path) for path in by]) in places
            for variant in variants
            if axis.path not in variant
        )

    return [axis for axis in free if axis.path in several or not told(axis)]


def number(value: Any) -> tuple[float, str] | None:
    """Return a value as (number, SI unit), None if it is no quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), "1"
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    for unit, factors in _UNITS:
        written = match[2].lower() if factors is RATE_UNITS else match[2]  # as the language does
        if written in factors:
            return float(match[1]) * factors[written], unit
    return None


def axes(variants: Sequence[Variant], sets: Sequence[VariantSets] = ()) -> list[Axis]:
    """Return the axes of some variants. Values are sorted if they are numbers.

    ``sets`` has, for each variant, what its named values set.
    """
    named: dict[str, dict[str, Variant]] = {}
    for variant, each in zip(variants, sets, strict=False):
        for axis, values in each.items():
            named.setdefault(axis, {})[variant[axis]] = values
    variants = list({id(variant): variant for variant in variants}.values())  # runs share them
    paths = list(dict.fromkeys(path for variant in variants for path in variant))
    short = labels(paths)
    found = [
        _axis(path, short[path], [variant[path] for variant in variants if path in variant])
        for path in paths
    ]
    return [replace(axis, sets=named.get(axis.path)) for axis in found]


def _axis(path: str, label: str, values: Sequence[Any]) -> Axis:
    distinct = {key(value): value for value in values}
    numbers = [number(value) for value in distinct.values()]
    units = {found[1] for found in numbers if found is not None}
    if None in numbers or len(units) != 1 or path in TEXT_PATHS:
        return Axis(path, label, tuple(distinct.values()), None, None)
    known = [found[0] for found in numbers if found is not None]
    order = sorted(zip(known, distinct.values(), strict=True), key=lambda pair: pair[0])
    return Axis(
        path,
        label,
        tuple(value for _number, value in order),
        tuple(each for each, _value in order),
        units.pop(),
    )


def key(value: Any) -> str:
    """Return a value as JSON with sorted keys: a text that is equal for equal values only."""
    return json.dumps(value, sort_keys=True)


def order(there: Sequence[Axis]) -> Callable[[Variant], tuple[int, ...]]:
    """Return a sort key of variants: by their values on the first axis, then on the next ones.

    Values are in the order of their axis. A variant without a value comes before those with one.
    """
    places = {axis.path: [key(value) for value in axis.values] for axis in there}

    def rank(variant: Variant) -> tuple[int, ...]:
        return tuple(
            values.index(key(variant[path])) if path in variant else -1
            for path, values in places.items()
        )

    return rank


def labels(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest end of each path, by whole parts, that no other path ends with."""
    by_path = {}
    for path in paths:
        parts = path.split(".")
        for length in range(1, len(parts) + 1):
            label = ".".join(parts[-length:])
            ending = [other for other in paths if f".{other}".endswith(f".{label}")]
            if ending == [path] or length == len(parts):
                by_path[path] = label
                break
    return by_path


def named(text: str, there: Sequence[Axis]) -> Axis:
    """Return the axis that a path, or an end of one path only, names.

    Raises:
        UsageError: it names none, or several.
    """
    matching = [axis for axis in there if f".{axis.path}".endswith(f".{text}")]
    exact = [axis for axis in matching if axis.path == text]
    if len(exact or matching) == 1:
        return (exact or matching)[0]
    if matching:
        raise UsageError(
            f"{text} names several axes: {', '.join(axis.path for axis in matching)}; "
            "give more of it"
        )
    valid = [axis.label for axis in there]
    listed = f"the axes are {', '.join(valid)}" if valid else "the experiment has no axes"
    raise UsageError(f"there is no axis {text}{suggest(text, valid)}; {listed}")


def shown(value: Any) -> str:
    """Return a value as it stands in a scenario."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, Mapping) and set(value) == {"name"}:
        return str(value["name"])
    return json.dumps(value, ensure_ascii=False).replace('"', "")
