"""An interval of means: those that agree with a paper, or that agree or are near."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AcceptedRange:
    """The means that agree with the paper; an end that is None has no limit.

    ``above`` says that ``low`` itself does not agree: a value must be larger.
    """

    low: float | None
    high: float | None
    above: bool = False

    def has(self, value: float) -> bool:
        """Tell whether a value is accepted."""
        if self.low is not None and (value < self.low or (self.above and value == self.low)):
            return False
        return self.high is None or value <= self.high

    def has_none_of(self, low: float, high: float) -> bool:
        """Tell whether no value from ``low`` to ``high`` is accepted."""
        if self.high is not None and low > self.high:
            return True
        return self.low is not None and (high < self.low or (self.above and high == self.low))

    def edges(self) -> list[float]:
        """Return the ends that are limits."""
        return [edge for edge in (self.low, self.high) if edge is not None]
