"""Times, windows and limits of traces, as users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from orchestrator.errors import UsageError
from orchestrator.protocol.reports.trace_records import (
    DEFAULT_LIMIT_BYTES,
    LEAST_LIMIT_BYTES,
    MOST_LIMIT_BYTES,
)
from orchestrator.units import UnitError, parse_size, parse_time_ns
from orchestrator.windows import parse_window_ns
from results.wording import quantities

Command = TypeVar("Command", bound=Callable[..., object])


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


def limited(text: str) -> Callable[[Command], Command]:
    """Return the option ``--limit``, a size, with this help."""
    return click.option(
        "--limit",
        metavar="SIZE",
        default=quantities.size(DEFAULT_LIMIT_BYTES).replace(" ", ""),
        show_default=True,
        help=text,
    )


def limit_bytes(text: str) -> int:
    """Return the size of ``--limit``; UsageError when it is none, or not possible."""
    try:
        size: int = parse_size(text)
    except UnitError as error:
        raise UsageError(f"--limit {text}: {error}") from None
    if not LEAST_LIMIT_BYTES <= size <= MOST_LIMIT_BYTES:
        least, most = quantities.size(LEAST_LIMIT_BYTES), quantities.size(MOST_LIMIT_BYTES)
        raise UsageError(f"--limit {text}: {least} to {most} is valid")
    return size
