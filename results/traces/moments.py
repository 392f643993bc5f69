"""What happened to a flow at a moment, in words, with the rows of the trace that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Moment:
    """Something that happened to a flow.

    ``kind`` is the cause's name, such as ``full queue``. ``text`` is a sentence about the flow
    without its time. ``numbers`` are the values in the text by names that end in their units.
    ``evidence`` counts the rows that show it, by table.
    """

    time_ns: int
    flow: int
    kind: str
    text: str
    until_ns: int | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, int] = field(default_factory=dict)


def until(begin_ns: int, end_ns: int, gap_ns: int) -> str:
    """Return when a group of events ended, as the end of a sentence; empty for a short one.

    ``gap_ns`` is the time by which groups are apart.
    """
    return f", until {end_ns / 1e9:.3f} s" if end_ns - begin_ns > gap_ns else ""
