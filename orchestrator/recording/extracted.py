"""Numbers that a scenario takes from what its programs print: their names, units and values.

Such a number is a metric of its flow. The metric's name has the number's name and its unit, such as
``program_transfer_time_s`` of ``transfer_time``. So whoever knows a name of this form knows the
unit of its values, and no other metric has such a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.units import RATE_UNITS, SIZE_UNITS, TIME_UNITS_NS

PREFIX = "program_"
"""Of the metrics' names."""

PROVENANCE = "extracted"
"""The key of a run's provenance that has the numbers."""

MOST_NUMBERS = 32
"""Numbers of a flow."""

MOST_NAME = 40
"""Characters of a number's name."""


class StoredUnit(NamedTuple):
    """A unit of metrics, and what the names of such metrics end in."""

    unit: str
    suffix: str
    share: bool = False


_TIME, _RATE = StoredUnit("s", "_s"), StoredUnit("bit/s", "_bps")
_SIZE, _PACKETS = StoredUnit("bytes", "_bytes"), StoredUnit("packets", "_packets")
_FREQUENCY, _SHARE = StoredUnit("1/s", "_per_s"), StoredUnit("1", "_ratio", share=True)
_PLAIN = StoredUnit("1", "")
_STORED = (_FREQUENCY, _TIME, _RATE, _SIZE, _PACKETS, _SHARE)
"""Those with a suffix; one that ends as another does comes first."""

UNITS: dict[str, tuple[StoredUnit, float]] = {
    **{unit: (_TIME, factor / 1e9) for unit, factor in TIME_UNITS_NS.items()},
    **{unit: (_RATE, float(factor)) for unit, factor in RATE_UNITS.items()},
    **{unit: (_SIZE, float(factor)) for unit, factor in SIZE_UNITS.items()},
    **{f"{unit}/s": (_RATE, 8.0 * factor) for unit, factor in SIZE_UNITS.items()},
    "p": (_PACKETS, 1),
    "/s": (_FREQUENCY, 1),
    "%": (_SHARE, 0.01),
    "1": (_PLAIN, 1),
}
"""The units in which programs may print, with that of the metric and their size in it."""

_NAME = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*"
_METRIC = re.compile(f"{PREFIX}({_NAME})", re.ASCII)
_LAST_WORDS = {word for one in _STORED for word in one.suffix[1:].split("_")}
"""The last words of names that would be taken for a unit."""


def require_name(name: str) -> None:
    """Raise ValueError unless a number may have that name."""
    if len(name) > MOST_NAME or not re.fullmatch(_NAME, name, re.ASCII):
        raise ValueError(
            f"is no name of a number: use lower-case letters, digits and `_`, a letter first, "
            f"{MOST_NAME} characters at most"
        )
    last = name.rpartition("_")[2]
    if last in _LAST_WORDS:
        raise ValueError(
            f"ends in `{last}`, which says a unit: leave it out, because the metric's name gets "
            "the unit by itself"
        )


def metric_name(name: str, unit: str) -> str:
    """Return the metric of a number with that name, which is printed in that unit of UNITS."""
    return f"{PREFIX}{name}{UNITS[unit][0].suffix}"


def parts_of(metric: str) -> tuple[str, StoredUnit] | None:
    """Return the number's name and the metric's unit; None of another metric's name."""
    match = _METRIC.fullmatch(metric)
    if match is None:
        return None
    whole = match[1]
    stored = next((one for one in _STORED if whole.endswith(one.suffix)), _PLAIN)
    name = whole.removesuffix(stored.suffix)
    try:
        require_name(name)
    except ValueError:
        return None
    return name, stored


@dataclass(frozen=True)
class ExtractedNumber:
    """A number that was taken from a program's output.

    ``value`` is in the unit of ``metric``, None where there was no number. ``matches`` is how often
    the pattern matched, and ``numbers`` how many of these matches were a number.
    """

    metric: str
    value: float | None
    matches: int
    numbers: int


def of_provenance(provenance: Mapping[str, Any]) -> dict[str, list[ExtractedNumber]]:
    """Return the numbers of each flow by its name, from the provenance of a run.

    Raises:
        ValueError: it has another form.
    """
    by_flow = provenance.get(PROVENANCE, {})
    _require(isinstance(by_flow, Mapping), "it is no mapping")
    return {flow: _numbers(listed) for flow, listed in by_flow.items()}


def document(numbers: Mapping[str, list[ExtractedNumber]]) -> dict[str, Any]:
    """Return numbers by their flow, JSON-ready, as :func:`of_provenance` reads them."""
    return {flow: [vars(number) for number in listed] for flow, listed in numbers.items()}


def values_by_metric(
    numbers: Mapping[str, list[ExtractedNumber]], flow: str
) -> dict[str, float | None]:
    """Return the numbers of a flow by the names of their metrics; none of one that has none."""
    return {number.metric: number.value for number in numbers.get(flow, [])}


def _numbers(listed: object) -> list[ExtractedNumber]:
    if not isinstance(listed, list) or len(listed) > MOST_NUMBERS:
        raise ValueError("extracted: a flow has no list of numbers, or too long a one")
    numbers = []
    for one in listed:
        known = isinstance(one, Mapping) and set(one) == {"metric", "value", "matches", "numbers"}
        _require(known, "a number has another form")
        value, counts = one["value"], (one["matches"], one["numbers"])
        _require(isinstance(one["metric"], str) and bool(parts_of(one["metric"])), "a metric")
        _require(value is None or (type(value) in (int, float) and math.isfinite(value)), "a value")
        _require(all(type(count) is int and count >= 0 for count in counts), "a count")
        numbers.append(ExtractedNumber(**one))
    names = [number.metric for number in numbers]
    _require(len(set(names)) == len(names), "a metric is there twice")
    return numbers


def _require(fine: bool, problem: str) -> None:
    if not fine:
        raise ValueError(f"extracted: {problem}")
