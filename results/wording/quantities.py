"""Formats single values for people, the same on a terminal, in a report and in a file."""

from __future__ import annotations

NO_VALUE = "-"

_SCALED = {"bit/s": (1e6, "Mbit/s"), "s": (1e-3, "ms")}
_COUNTED = ("packets", "segments", "bytes")


def number(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Return ``value / scale`` with that many decimals, or NO_VALUE for None."""
    return NO_VALUE if value is None else f"{value / scale:.{digits}f}"


def integer(value: float | None) -> str:
    """Return a count, or NO_VALUE for None."""
    return NO_VALUE if value is None else f"{value:.0f}"


def plural(count: int, noun: str) -> str:
    """Return ``1 run``, ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def unit(stored: str) -> str:
    """Return the unit in which :func:`quantity` gives values stored in that unit; may be empty."""
    return _SCALED[stored][1] if stored in _SCALED else "" if stored == "1" else stored


def is_scaled(stored: str) -> bool:
    """Tell whether values in that stored unit are shown in another one."""
    return stored in _SCALED


def scale(stored: str) -> float:
    """Return the size of :func:`unit` in the stored unit."""
    return _SCALED[stored][0] if stored in _SCALED else 1.0


def quantity(value: object, stored: str) -> str:
    """Return a value in that stored unit as text in a readable unit."""
    if value is None:
        return NO_VALUE
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if stored in _SCALED:
        return number(value, 3, _SCALED[stored][0])
    whole = stored in _COUNTED or isinstance(value, int)
    return integer(value) if whole else f"{value:#.4g}"
