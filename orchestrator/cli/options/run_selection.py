"""Selects and sorts the runs of a list by what the user asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from orchestrator.units import shown
from results.query import run_fields
from results.query.conditions import parse
from results.runs.model import ListedRun

AGES = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
"""Units of ``--since``, with the words of ``timedelta``."""

_AGE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([A-Za-z]*)")


def matching(runs: Sequence[ListedRun], conditions: Sequence[str]) -> Sequence[ListedRun]:
    """Return the runs that fit the conditions of ``--where``; UsageError when one is not valid."""
    try:
        holding = [parse(condition, runs) for condition in conditions]
    except ValueError as error:
        raise UsageError(f"--where: {error}") from None
    return [run for run in runs if all(holds(run) for holds in holding)]


def since(runs: Sequence[ListedRun], text: str, now: datetime | None = None) -> Sequence[ListedRun]:
    """Return the runs that began at a time of ``--since`` or later, or at most so long ago."""
    first = _moment(text, now or datetime.now(UTC))
    return [run for run in runs if datetime.fromisoformat(run.row.started_utc) >= first]


def in_order(runs: Sequence[ListedRun], name: str) -> list[ListedRun]:
    """Return the runs sorted by a field of ``--sort``, those without a value last.

    A minus before the name sorts from the largest to the smallest.
    """
    try:
        return run_fields.in_order(runs, name, lambda run: run, runs)
    except run_fields.FieldError as error:
        raise UsageError(f"--sort {name}: {error}") from None


def _moment(text: str, now: datetime) -> datetime:
    match = _AGE.fullmatch(text)
    try:
        if match and match[2] in AGES:
            return now - timedelta(**{AGES[match[2]]: float(Decimal(match[1]))})
        if match:
            raise UsageError(
                f"--since {text}: unknown unit {shown(match[2])}{suggest(match[2], AGES)}; "
                f"valid units: {', '.join(AGES)}"
            )
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text}: write an age such as 30min, 12h or 2d, or a time in UTC such as "
            "2026-11-20 or 2026-11-20T10:15"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
