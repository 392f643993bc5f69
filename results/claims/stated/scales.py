"""The scale on which the mean of a row is taken: that on which its values spread evenly.

A ratio and a positive quantity spread by factors, so their logarithms are averaged. An index
spreads by how far it is from 0 and from 1, so its logits are averaged. On these scales no interval
leaves what is possible: below 0, or above 1 for an index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from results.claims.stated.model import Quantity

SQUEEZE = 1e-3
"""An index is moved this much from 0 and 1, and those between in proportion, before its logit is
taken. Else 1 had none, and differences that say nothing of fairness, such as that of 0.9999 and
0.999, were all of the spread."""

ScaleName = Literal["plain", "log", "logit"]


@dataclass(frozen=True)
class Scale:
    """A monotone function of the values, and its inverse."""

    name: ScaleName

    def of(self, value: float) -> float:
        """Return a value on the scale; an end that the scale does not reach is infinite."""
        if self.name == "log":
            return math.log(value) if value > 0.0 else -math.inf
        if self.name == "logit":
            inside = SQUEEZE + (1.0 - 2.0 * SQUEEZE) * value
            return math.log(inside / (1.0 - inside))
        return value

    def back(self, value: float) -> float:
        """Return the value whose place on the scale is this one."""
        if self.name == "log":
            return math.exp(value)
        if self.name == "logit":
            inside = 1.0 / (1.0 + math.exp(-value))
            return min(max((inside - SQUEEZE) / (1.0 - 2.0 * SQUEEZE), 0.0), 1.0)
        return value


PLAIN, LOG, LOGIT = Scale("plain"), Scale("log"), Scale("logit")


def is_index(quantity: Quantity) -> bool:
    """Tell whether a value is an index between 0 and 1, such as Jain's."""
    return quantity.over == "jain" or quantity.metric == "jain_index"


def scale_of(index: bool, values: Sequence[float]) -> Scale:
    """Return the scale of a row; the plain one where a value is 0 or below and has no logarithm.

    Args:
        index: whether its value is an index, and not a ratio of two.
        values: those of its repetitions.
    """
    if index:
        return LOGIT
    return LOG if all(value > 0.0 for value in values) else PLAIN
