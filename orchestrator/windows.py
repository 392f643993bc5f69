"""Windows: parts of a run, by their begin and their end."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from orchestrator.protocol.units import NS_PER_S
from orchestrator.units import UnitError, parse_time_ns, shown


@dataclass(frozen=True)
class Window:
    """A named part of the simulated time, in seconds since the start of traffic.

    It gets metrics of its own. ``name`` is not empty and unique in its run.
    """

    name: str
    from_s: float
    to_s: float


def parse_window_ns(value: object) -> tuple[int, int]:
    """Return the begin and the end, in nanoseconds, of a text such as ``12s..13s``.

    Raises:
        UnitError: it is no window, or ends before it begins.
    """
    start, dots, end = value.partition("..") if isinstance(value, str) else ("", "", "")
    if not dots:
        raise UnitError(f"give FROM..TO, such as 12s..13s, not {shown(value)}")
    from_ns, to_ns = parse_time_ns(start), parse_time_ns(end)
    if from_ns >= to_ns:
        text = "it must begin at 0s or later, and end after its begin"
        raise UnitError(f"{text}, not {shown(value)}")
    return from_ns, to_ns


def window_text(from_ns: int, to_ns: int) -> str:
    """Return a window as users write it, to the nanosecond, such as ``12s..12.5s``."""
    return f"{seconds_text(from_ns)}..{seconds_text(to_ns)}"


def seconds_text(time_ns: int) -> str:
    """Return a time in seconds as users write it, to the nanosecond."""
    return f"{decimal_seconds(time_ns)}s"


def decimal_seconds(time_ns: int) -> str:
    """Return a time in seconds, to the nanosecond and without a unit, such as ``12.5``."""
    text = f"{Decimal(time_ns) / NS_PER_S:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
