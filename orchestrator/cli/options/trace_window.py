"""Times and windows of traces, as users write them."""

from __future__ import annotations

from orchestrator.errors import UsageError
from orchestrator.units import UnitError, parse_time_ns
from orchestrator.windows import parse_window_ns


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
    try:
        return parse_window_ns(text)
    except UnitError as error:
        raise UsageError(f"{option} {text}: {error}") from None
