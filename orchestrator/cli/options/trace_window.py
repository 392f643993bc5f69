"""Times and windows of traces, as users write them."""

from __future__ import annotations

from orchestrator.errors import UsageError
from orchestrator.units import UnitError, parse_time_ns


def moment_ns(option: str, text: str) -> int:
    """Return a time as nanoseconds; UsageError with the option's name when it is none."""
    try:
        return parse_time_ns(text)
    except UnitError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def window_ns(option: str, text: str) -> tuple[int, int]:
    """Return the begin and the end of FROM..TO in nanoseconds.

    Raises:
        UsageError: it is no window, or ends before it begins.
    """
    start, dots, end = text.partition("..")
    if not dots:
        raise UsageError(f"{option} {text}: give FROM..TO, such as 12s..13s")
    try:
        from_ns, to_ns = parse_time_ns(start), parse_time_ns(end)
    except UnitError as error:
        raise UsageError(f"{option} {text}: {error}") from None
    if not 0 <= from_ns < to_ns:
        raise UsageError(f"{option} {text}: it must begin at 0s or later, and end after its begin")
    return from_ns, to_ns
