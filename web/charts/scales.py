"""Axes of a plot: where values stand, and at which of them there are ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from web.html import formats

MOST_TICKS = 7


@dataclass(frozen=True)
class Scale:
    """Maps values from ``low`` to ``high`` to 0 to 1, linearly or by their logarithms."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value; on a logarithmic scale it is above zero."""
        low, high, value = (
            (math.log10(number) for number in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return round values on the scale, at most about MOST_TICKS."""
        if not self.log:
            return _round_values(self.low, self.high)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in ((1, 2, 5), (1,)):
            every = max(1, math.ceil((last - first) / MOST_TICKS))
            round_values = [
                step * 10.0**power for power in range(first, last + 1, every) for step in steps
                if self.low <= step * 10.0**power <= self.high
            ]  # fmt: skip
            if 2 <= len(round_values) <= MOST_TICKS + 2:
                return round_values
        return _round_values(self.low, self.high)


def over(values: Sequence[float], *, log: bool = False, from_zero: bool = False) -> Scale:
    """Return a scale on which all the values stand, with a margin.

    ``from_zero`` begins at zero if no value is below. ``log`` needs values above zero.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if log:
        margin = (high / low) ** 0.05 if high > low else 1.5
        return Scale(low / margin, high * margin, log=True)
    spread = high - low or abs(high) or 1.0
    bottom = 0.0 if from_zero and low >= 0 else low - 0.05 * spread
    top = high + 0.06 * spread
    return Scale(bottom, top if top > bottom else bottom + 1.0)


def _round_values(low: float, high: float) -> list[float]:
    raw = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


_PREFIXES = {
    "rate": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "time": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "percent": ((0.01, "%"),),
}


@dataclass(frozen=True)
class Unit:
    """A unit for several values: its size in the stored unit, and its name."""

    size: float
    name: str

    def digits(self, value: float | None, step: float | None = None) -> str:
        """Return a value with two digits of ``step``, or else four digits."""
        if value is None:
            return formats.NONE
        scaled = value / self.size
        if step and math.isfinite(step) and step > 0:
            places = min(max(0, 1 - math.floor(math.log10(step / self.size))), 9)
            return f"{scaled:.{places}f}"
        return formats.number(scaled)


def unit_of(format_name: str, stored: str, values: Sequence[float]) -> Unit:
    """Return the unit to show values of a metric's format in: the largest becomes at least 1."""
    largest = max((abs(value) for value in values), default=0.0)
    prefixes = _PREFIXES.get(format_name)
    if prefixes is None:
        return Unit(1.0, "" if stored == "1" else stored)
    for size, name in prefixes:
        if largest >= size:
            return Unit(size, name)
    return Unit(*(prefixes[-1] if largest else prefixes[0]))
