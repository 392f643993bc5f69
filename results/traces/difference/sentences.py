"""Where two runs part in sentences, in which the runs are ``a`` and ``b``."""

from __future__ import annotations

from orchestrator.windows import decimal_seconds
from results.traces.difference.model import RunDifference, RunSide
from results.traces.difference.traced_events import TracedEvent
from results.wording import quantities

NAMES = "ab"
"""What the runs are called, in their order."""

IDENTICAL = "The runs are bit-identical: all that their digests cover is equal."

_EQUAL = {
    "links": "steps of packets through links",
    "acks": "states after ACKs",
    "events": "events of connections",
    "drops": "packets dropped outside of links",
}
_KINDS = {"packet": "a packet", "ack": "an ACK", "state": "an event of a connection"}


def equal_before(difference: RunDifference) -> str:
    """Return what is equal in both runs before they part; empty where nothing was looked at."""
    equal = difference.equal or {}
    parts = [f"{equal[name]} {what}" for name, what in _EQUAL.items() if equal.get(name)]
    return f"Equal in both runs: {', '.join(parts)}." if parts else ""


def outcome(difference: RunDifference) -> str:
    """Return when runs part that are not bit-identical, and by what, or that no event differs."""
    if difference.time_ns is None or difference.kind is None:
        return _without_parting(difference)
    return f"At {seconds(difference.time_ns)} s they part, by {_KINDS[difference.kind]}"


def _without_parting(difference: RunDifference) -> str:
    """Return what is told of runs of which no traced event differs, though their digests do."""
    ends = [side.end_ns for side in difference.sides]
    if difference.equal_until_ns is None or ends[0] == ends[1]:
        return "Their digests differ, and no traced event does: what differs is not traced."
    shorter = NAMES[0 if ends[0] < ends[1] else 1]
    until = decimal_seconds(difference.equal_until_ns)
    return f"They are equal until {shorter} ends at {until} s."


def event_of(side: RunSide) -> str:
    """Return what a run did where the runs part."""
    return "no such event at that time" if side.there is None else side.there.text


MARKS = "~ is in both with other values, + is in this run only"
"""What ``mark`` returns."""

_MOST_VALUES = 4
"""The most values that are told of an event that both runs have."""


def mark(event: TracedEvent) -> str:
    """Return the sign of an event that the other run does not have, or with other values."""
    if not event.only_here:
        return ""
    return "+" if event.other_values is None else "~"


def other_values(event: TracedEvent, other: str) -> str:
    """Return the values in which an event differs from that of the other run, which has a name."""
    found = [
        f"{name} {value_text(event.values.get(name))}, in {other} {value_text(value)}"
        for name, value in (event.other_values or {}).items()
    ]
    more = [f"and {len(found) - _MOST_VALUES} values more"] if len(found) > _MOST_VALUES else []
    return "; ".join([*found[:_MOST_VALUES], *more])


def in_kind(difference: RunDifference) -> str:
    """Return when runs that part differ in kind after that."""
    if difference.in_kind_time_ns is None:
        until = decimal_seconds(difference.in_kind_until_ns or 0)
        return (
            f"Until {until} s, no later state after an ACK, loss, mark, retransmission or recovery "
            "is in one run only."
        )
    return f"At {seconds(difference.in_kind_time_ns)} s they differ in kind first after that"


def in_kind_of(side: RunSide) -> str:
    """Return what a run did where the runs differ in kind."""
    return "no such event at that time" if side.in_kind is None else side.in_kind.text


def value_text(value: object) -> str:
    """Return a value that differs."""
    if value is None:
        return quantities.NO_VALUE
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def seconds(time_ns: int) -> str:
    """Return a time in seconds, to the nanosecond."""
    return f"{time_ns / 1e9:.9f}"
