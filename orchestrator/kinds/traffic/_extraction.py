"""Numbers that are taken from what a program prints, by regular expressions."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import ShortForm, located
from orchestrator.protocol.engine_parameters import ExtractionSpec
from orchestrator.recording.extracted import UNITS
from orchestrator.suggestions import suggest
from orchestrator.units import shown

MOST_PATTERN = 300
"""Characters of a pattern."""

_SET_OPERATION = re.compile(r"\[\^?\[|\[[^\]]*(?:--|&&|~~|\|\|)")
"""What Python warns of, because it may get another meaning ("Possible nested set")."""


class Extraction(ShortForm):
    """A number that is taken from what the client prints; a pattern alone stands for the mapping.

    The pattern is a regular expression of Python's ``re``. Its one group is the number, and the
    name of the group may be the unit. The pattern is tried on each line.
    """

    short = "pattern"

    pattern: str = Field(
        min_length=1,
        max_length=MOST_PATTERN,
        description="regular expression with one group, around the number",
    )
    unit: str | None = Field(
        default=None,
        description="in which the program prints the number: one of a time, rate or size, `MB/s` "
        "and the like (bytes in a second), `p`, `/s`, `%`, or `1`. The name of the group when not "
        "given; a count of matches has none",
    )
    stream: Literal["stdout", "stderr"] = Field(
        default="stdout", description="which of the client's outputs"
    )
    take: Literal["first", "last", "mean", "sum", "min", "max", "count"] = Field(
        default="last",
        description="which of several numbers, or what of them; `count` is the number of matches",
    )

    @model_validator(mode="after")
    def _pattern_and_unit(self) -> Extraction:
        problem = _problem(self.pattern)
        if problem is not None:
            raise located([(("pattern",), problem)])
        if self.unit is not None and self.unit not in UNITS:
            raise located([(("unit",), _unknown(self.unit))])
        name = _group_name(self.pattern)
        if self.take == "count":
            if (self.unit or name or "1") in UNITS.keys() - {"1"}:
                raise located([(("take",), "a count of matches has no unit")])
            return self
        if self.unit is not None and name in UNITS:
            raise located(
                [(("unit",), f"the group's name is the unit `{name}` already: give one of them")]
            )
        if self.unit is None and name is None:
            raise ValueError(
                "the number has no unit: give `unit`, or name the group by it, such as "
                "`(?P<ms>[0-9.]+)`"
            )
        if self.unit is None and name not in UNITS:
            raise located([(("pattern",), f"the group's name is no unit: {_unknown(str(name))}")])
        return self

    @property
    def printed_unit(self) -> str:
        """The unit in which the program prints the number."""
        return "1" if self.take == "count" else self.unit or str(_group_name(self.pattern))

    def document(self) -> ExtractionSpec:
        """Return what the test bed does, and the unit."""
        return {
            "pattern": self.pattern,
            "unit": self.printed_unit,
            "stream": self.stream,
            "take": self.take,
        }


def _problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern, or None."""
    if _SET_OPERATION.search(re.sub(r"\\.", "", pattern, flags=re.DOTALL)):
        return "`[`, `--`, `&&`, `~~` and `||` in a set need a backslash before them"
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        return f"{shown(pattern)} is no regular expression: {error}"
    except (RecursionError, OverflowError):
        return f"{shown(pattern)} is no regular expression that can be tried"
    if groups != 1:
        found = "no group" if groups == 0 else f"{groups} groups"
        return (
            f"{shown(pattern)} has {found}: put parentheses around the number, and write `(?:...)` "
            "for others"
        )
    return None


def _group_name(pattern: str) -> str | None:
    return next(iter(re.compile(pattern).groupindex), None)


def _unknown(unit: str) -> str:
    return f"unknown unit {shown(unit)}{suggest(unit, UNITS)}; valid: {', '.join(UNITS)}"
