"""The table of variants over their repetitions, with units and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results import left_out
from results.metrics import METRICS
from results.metrics.base import Scope
from results.statistics.differences import SIGNIFICANT
from web import formats, scales
from web.answers import Value, interval
from web.scales import Unit


@dataclass(frozen=True)
class Mean:
    """A mean over ``n`` repetitions with its interval."""

    mean: Value
    low: Value
    high: Value
    n: int


@dataclass(frozen=True)
class Difference:
    """A difference to the first variant; ``shown`` tells whether the runs show one."""

    mean: Value
    low: Value
    high: Value
    p: str
    effect: str
    pairs: str
    shown: bool


@dataclass(frozen=True)
class Line:
    """A metric of a flow entry, a link or the whole run; None where a variant has no value."""

    subject: str
    title: str
    definition: str
    unit: str
    means: Sequence[Mean | None]
    differences: Sequence[Difference | None]


@dataclass(frozen=True)
class Table:
    """The variants' names, their numbers of runs, what is left out of which, and the lines."""

    names: Sequence[str]
    runs: Sequence[int]
    notes: Sequence[str]
    lines: Sequence[Line]
    paired: bool


def table(document: Mapping[str, Any]) -> Table:
    """Return the table of ``results.compare_variants``: metrics with a difference alone."""
    variants = document["variants"]
    lines = [line for line in document["values"] if any(line["differences"])]
    found = [each for line in lines for each in line["differences"] if each is not None]
    return Table(
        [one["name"] for one in variants],
        [len(one["runs"]) for one in variants],
        list(_notes(variants)),
        [_line(line) for line in lines],
        all(each["method"] == "paired" for each in found),
    )


def _line(line: Mapping[str, Any]) -> Line:
    scope: Scope = "flow" if line["flow"] else "link" if line["link"] else "run"
    one = METRICS[line["metric"], scope]
    known = [each["mean"] for each in line["means"] if each is not None]
    unit = scales.unit_of(one.format, one.unit, known)
    return Line(
        line["flow"] or line["link"] or "run",
        one.title,
        " ".join(one.definition.split()),
        unit.name,
        [
            None if each is None else Mean(*interval(each, unit), each["n"])
            for each in line["means"]
        ],
        [None if each is None else _difference(each, unit) for each in line["differences"][1:]],
    )


def _difference(each: Mapping[str, Any], unit: Unit) -> Difference:
    p, effect = each["p_holm"], each["effect"]
    return Difference(
        *interval(each, unit),
        formats.p_value(p),
        formats.NONE if effect is None else f"{effect:+.2f}",
        str(each["paired_n"] or f"{each['a_n']}, {each['b_n']}"),
        p is not None and p <= SIGNIFICANT,
    )


def _notes(variants: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in variants:
        if words := left_out.words(one["left_out"]):
            yield f"Left out of {one['name']}: {words}."
