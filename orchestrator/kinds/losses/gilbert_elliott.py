"""Gilbert-Elliott loss: bursts, from a channel whose state may change after each packet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from orchestrator.intervals import Interval
from orchestrator.kinds.fields import Chance, Probability
from orchestrator.kinds.losses import LossSpec
from orchestrator.protocol.links.netem import GilbertElliottLoss

Matrix = tuple[float, float, float, float]


class GilbertElliott(LossSpec):
    """A channel with the states Good and Bad, each with its own loss.

    It begins Good. Each packet is lost with the probability of the current state; then the state
    may change (netem's gemodel, net/sched/sch_netem.c). Write ``to_bad`` and ``to_good``, or
    ``mean_loss`` and ``mean_burst``. With ``bad_loss`` 100% and ``good_loss`` 0% (Gilbert's model,
    the default) a burst is a stay in Bad. It has 1 / to_good packets on average. The mean loss in
    the long run is (to_good good_loss + to_bad bad_loss) / (to_bad + to_good).
    """

    netem_resets: ClassVar[bool] = True

    kind: Literal["gilbert-elliott"] = Field(
        description="bursts of losses, from states that change packet by packet"
    )
    to_bad: Probability | None = Field(
        default=None, description="probability that Good turns Bad after a packet (netem's p)"
    )
    to_good: Probability | None = Field(
        default=None, description="probability that Bad turns Good after a packet (netem's r)"
    )
    bad_loss: Probability = Field(
        default=1.0, description="loss of each packet in Bad (netem's 1-h); with `to_bad` only"
    )
    good_loss: Chance = Field(
        default=0.0, description="loss of each packet in Good (netem's 1-k); with `to_bad` only"
    )
    mean_loss: Chance | None = Field(
        default=None, description="loss in the long run, with `mean_burst` instead of `to_bad`"
    )
    mean_burst: float | None = Field(
        default=None,
        ge=1,
        le=1e6,
        allow_inf_nan=False,
        description="mean number of packets lost in a row, at least 1, with `mean_loss`",
    )

    @model_validator(mode="after")
    def _one_way_or_the_other(self) -> GilbertElliott:
        by_state, by_burst = (self.to_bad, self.to_good), (self.mean_loss, self.mean_burst)
        if None in by_state and None in by_burst:
            raise ValueError("give `to_bad` and `to_good`, or `mean_loss` and `mean_burst`")
        if by_state != (None, None) and by_burst != (None, None):
            raise ValueError(
                "give `to_bad` and `to_good`, or `mean_loss` and `mean_burst`, not both"
            )
        if self.to_bad == 0 or self.to_good == 0:
            raise ValueError("`to_bad` and `to_good` must be above zero: a state would never end")
        if self.mean_loss is not None and self.mean_burst is not None:
            if self.mean_loss == 0:
                raise ValueError("`mean_loss` must be above zero")
            if (self.bad_loss, self.good_loss) != (1.0, 0.0):
                raise ValueError("`bad_loss` and `good_loss` go with `to_bad` and `to_good`")
            most = self.mean_burst / (1 + self.mean_burst)
            if self.mean_loss > most:
                raise ValueError(
                    f"bursts of {self.mean_burst:g} packets, at least one packet apart, lose "
                    f"{100 * most:.4g}% at most"
                )
        return self

    @property
    def transitions(self) -> tuple[float, float]:
        """(probability that Good turns Bad after a packet, that Bad turns Good)."""
        if self.to_bad is not None and self.to_good is not None:
            return self.to_bad, self.to_good
        assert self.mean_loss is not None, "one of the two ways is given"
        assert self.mean_burst is not None, "one of the two ways is given"
        to_good = 1 / self.mean_burst
        return to_good * self.mean_loss / (1 - self.mean_loss), to_good

    @property
    def mean(self) -> float:
        """The loss in the long run."""
        to_bad, to_good = self.transitions
        return (to_good * self.good_loss + to_bad * self.bad_loss) / (to_bad + to_good)

    def impairment(self) -> GilbertElliottLoss:
        """Return the loss, which does not change during the run."""
        return GilbertElliottLoss(*self.transitions, self.bad_loss, self.good_loss)

    def drops(self, packets: int, chance: float, hidden: float = 0.0) -> Interval:
        """Return the smallest and the largest plausible number of drops; see LossSpec.drops.

        By Chernoff's bound, which holds for every number of packets: P(drops >= a) <=
        E[exp(t drops)] exp(-t a) for every t > 0, and likewise below for t < 0.
        """
        if packets <= 0:
            return 0, 0
        margin = -math.log(chance)

        def bound(tilt: float, counted: float) -> float:
            return (self._log_moment(tilt, packets, counted) + margin) / tilt

        high = _least(lambda size: bound(math.exp(size), 1.0))
        low = -_least(lambda size: -bound(-math.exp(size), 1.0 - hidden))
        return max(0, math.ceil(low)), min(packets, math.floor(high))

    def _log_moment(self, tilt: float, packets: int, counted: float) -> float:
        """Return log E[exp(tilt x drops)] of so many packets, beginning in Good.

        It comes from the matrix of one packet, to the power of the number of packets. ``counted``
        is the share of losses that netem counts.
        """
        to_bad, to_good = self.transitions
        good, bad = (
            1 + counted * loss * math.expm1(tilt) for loss in (self.good_loss, self.bad_loss)
        )
        step = good * (1 - to_bad), good * to_bad, bad * to_good, bad * (1 - to_good)
        power: Matrix = (1.0, 0.0, 0.0, 1.0)
        scale = step_scale = 0.0
        while packets:
            if packets & 1:
                power, grown = _scaled(_product(power, step))
                scale += step_scale + grown
            step, grown = _scaled(_product(step, step))
            step_scale = 2 * step_scale + grown
            packets >>= 1
        return scale + math.log(power[0] + power[1])


def _product(a: Matrix, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )


def _scaled(matrix: Matrix) -> tuple[Matrix, float]:
    """Return the matrix divided by its largest entry, and the logarithm of that entry."""
    largest = max(matrix)
    a, b, c, d = (entry / largest for entry in matrix)
    return (a, b, c, d), math.log(largest)


def _least(function: Callable[[float], float]) -> float:
    """Return the minimum of a function of log(tilt) that has a single one (golden section)."""
    low, high = -25.0, 5.0
    ratio = (math.sqrt(5) - 1) / 2
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [function(point) for point in inner]
    for _ in range(80):
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - ratio * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + ratio * (high - low)
            values[1] = function(inner[1])
    return min(values)
