"""Formats of quantities on pages; registered as template filters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from markupsafe import Markup, escape

from orchestrator import plaintext
from results.records.model import Variant
from results.wording.check_words import outcome_words
from results.wording.endings import ended_early, ending

NONE = "–"
"""Text for an unknown value."""

_SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def rate(value_bps: float | None) -> str:
    """Return bit/s with four digits, such as ``9.571 Mbit/s``."""
    return NONE if value_bps is None else _si(value_bps, "bit/s")


def size(value_bytes: float | None) -> str:
    """Return bytes in decimal units, such as ``150 kB``."""
    return NONE if value_bytes is None else _si(value_bytes, "B")


def time(value_s: float | None) -> str:
    """Return seconds, below one as ms or µs, such as ``100.3 ms``."""
    if value_s is None:
        return NONE
    size_s = abs(value_s)
    if size_s >= 1 or size_s == 0:
        return f"{number(value_s)} s"
    return f"{number(value_s * 1e3)} ms" if size_s >= 1e-3 else f"{number(value_s * 1e6)} µs"


def percent(value: float | None) -> str:
    """Return a ratio as per cent with two decimals, such as ``95.71 %``."""
    return NONE if value is None else f"{value * 100:.2f} %"


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with that many significant digits, and no exponent within reason."""
    if value is None:
        return NONE
    if isinstance(value, int) or (math.isfinite(value) and float(value).is_integer()):
        return f"{int(value):,}".replace(",", "\u202f")
    if abs(value) >= 10**digits:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.{digits}g}"


def metric(value: float | None, format_name: str) -> str:
    """Return a metric's value in the format that the metric declares."""
    return {"rate": rate, "time": time, "percent": percent}.get(format_name, number)(value)


def p_value(value: float | None) -> str:
    """Return a p value with three decimals, such as ``0.012`` or ``< 0.001``."""
    return NONE if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def quantity(value: Any, unit: str) -> str:
    """Return a check's value in its unit, with five digits; texts stay as they are."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if unit == "s":
        scale, shown = (1.0, "s") if abs(value) >= 1 or value == 0 else (1e3, "ms")
        return f"{number(value * scale, 5)} {shown}"
    if unit in ("bit/s", "bps"):
        return _si(value, "bit/s", 5)
    return f"{number(value, 5)} {unit if unit not in ('', '1') else ''}".rstrip()


def moment(text: str | None) -> str:
    """Return an ISO 8601 moment as ``2026-11-20 11:07:47`` (UTC)."""
    if not text:
        return NONE
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


def variant(values: Variant) -> str:
    """Return the values of a run's matrix as ``path=value`` with commas."""
    return ", ".join(f"{path}={value}" for path, value in values.items())


def plural(number_of: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 run`` and ``2 runs``."""
    return f"{number(number_of)} {noun}{'' if number_of == 1 else 's'}"


def age(text: str, now: datetime) -> str:
    """Return how long ago a moment (ISO 8601, UTC) was, such as ``3 min ago``."""
    try:
        past = datetime.fromisoformat(text)
    except ValueError:
        return NONE
    passed_s = (now - (past if past.tzinfo else past.replace(tzinfo=UTC))).total_seconds()
    if passed_s < 60:
        return "just now"
    for size_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed_s >= size_s:
            return f"{int(passed_s / size_s)} {unit} ago"
    return NONE


def breakable(text: str) -> Markup:
    """Return the text as markup with possible line breaks after dots and equals signs."""
    return Markup(re.sub(r"([.=])", r"\1<wbr>", str(escape(text))))


def finalized(value: object) -> object:
    """Return a value as a template shows it, with visible control characters in texts.

    Stored texts come from guests. A browser shows nothing for a control character, and some reverse
    the direction of the text.
    """
    if not isinstance(value, str) or value.isprintable():  # none of these characters is printable
        return value
    return type(value)(plaintext.pictured(value))  # markup stays markup


def _si(value: float, unit: str, digits: int = 4) -> str:
    factor, prefix = next((entry for entry in _SI if abs(value) >= entry[0]), _SI[-1])
    return f"{number(value / factor, digits)} {prefix}{unit}"


def register(app: Flask) -> None:
    """Make the formats template filters of the application, and show texts safely."""
    app.jinja_env.finalize = finalized
    for function in (
        rate, size, time, percent, number, quantity, moment, variant, breakable, plural, metric,
    ):  # fmt: skip
        filters: dict[str, Callable[..., Any]] = app.jinja_env.filters
        filters[f"as_{function.__name__}"] = function
    app.jinja_env.filters |= {"ended_early": ended_early, "ending": ending}
    app.jinja_env.filters["check_outcome"] = outcome_words
