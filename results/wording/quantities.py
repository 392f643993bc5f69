"""Formats single values for people, the same on a terminal, in a report and in a file."""

from __future__ import annotations

from collections.abc import Sequence

NO_VALUE = "-"

_SCALED = {"bit/s": (1e6, "Mbit/s"), "s": (1e-3, "ms")}
_COUNTED = ("packets", "segments", "bytes")
_SIZES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TIMES_NS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
_DIGITS = 4


def number(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Return ``value / scale`` with that many decimals, or NO_VALUE for None."""
    return NO_VALUE if value is None else f"{value / scale:.{digits}f}"


def integer(value: float | None) -> str:
    """Return a count, or NO_VALUE for None."""
    return NO_VALUE if value is None else f"{value:.0f}"


def plural(count: int, noun: str) -> str:
    """Return ``1 run``, ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size(size_bytes: int) -> str:
    """Return bytes to four digits in the largest unit that they fill, such as ``10 MiB``."""
    return _filled(size_bytes, _SIZES)


def rough_size(size_bytes: int) -> str:
    """Return bytes to two significant digits in the largest unit that they fill: ``2.1 MiB``."""
    name, factor = next((each for each in _SIZES if size_bytes >= each[1]), _SIZES[-1])
    value = float(f"{size_bytes / factor:.1e}")
    return f"{value:.{1 if value < 10 and factor > 1 else 0}f} {name}"


def time(time_ns: int) -> str:
    """Return nanoseconds to four digits in the largest unit that they fill, such as ``4.788 s``."""
    return _filled(time_ns, _TIMES_NS)


def _filled(amount: int, units: Sequence[tuple[str, int]]) -> str:
    name, factor = next((each for each in units if abs(amount) >= each[1]), units[-1])
    value = amount / factor
    whole = len(f"{abs(value):.0f}")
    digits = f"{value:.{max(_DIGITS - whole, 0)}f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {name}"


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
