"""What happened to a flow at a moment, in words, with the rows of the trace that show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from results.traces.view import TraceView


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


def of_end(view: TraceView, flow: int, end: int, moments: Iterable[Moment]) -> Iterator[Moment]:
    """Yield moments of an end of a connection, with its ports where the flow has several."""
    ports = view.ports(flow, end)
    for moment in moments:
        if ports is None:
            yield moment
            continue
        yield replace(
            moment,
            text=f"{moment.text} (ports {ports[0]} to {ports[1]})",
            numbers={**moment.numbers, "sender_port": ports[0], "receiver_port": ports[1]},
        )


def until(begin_ns: int, end_ns: int, gap_ns: int) -> str:
    """Return when a group of events ended, as the end of a sentence; empty for a short one.

    ``gap_ns`` is the time by which groups are apart.
    """
    return f", until {end_ns / 1e9:.3f} s" if end_ns - begin_ns > gap_ns else ""
