"""Two states of exponential durations: the fading channel of the TIBET paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import Chance, Duration, Probability
from orchestrator.kinds.losses import LossSpec
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.protocol.units import NS_PER_S, nanoseconds


class Markov(LossSpec):
    """A channel that is Good and Bad in turn, for exponentially distributed times.

    It begins Good. Source: Capone, Fratta & Martignon, "Bandwidth Estimation Schemes for TCP over
    Wireless Networks", Fig. 17. There Good lasts 1 s and Bad 50 ms on average, with a loss of 0 to
    50% in Bad. The controller draws from the run's seed, and the test bed changes the loss at the
    exact times.
    """

    kind: Literal["markov"] = Field(
        description="two states that last for exponentially distributed times"
    )
    good: Duration = Field(default=1.0, description="mean duration of Good, such as 1s")
    bad: Duration = Field(default=0.05, description="mean duration of Bad, such as 50ms")
    good_loss: Chance = Field(default=0.0, description="loss of each packet in Good")
    bad_loss: Probability = Field(description="loss of each packet in Bad")

    @property
    def mean(self) -> float:
        """The loss in the long run, of packets spread evenly over time."""
        total_s = self.good + self.bad
        return (self.good * self.good_loss + self.bad * self.bad_loss) / total_s

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The losses of Good and Bad."""
        return self.good_loss, self.bad_loss

    @property
    def states_per_s(self) -> float:
        """Mean number of changes in a second."""
        return 2 / (self.good + self.bad)

    def impairment(self) -> IndependentLoss:
        """Return the loss of Good, which comes first."""
        return IndependentLoss(self.good_loss)

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time, loss from then on) of every change of state."""
        draw = random.Random(seed)
        end_ns = nanoseconds(duration_s)
        is_bad, time_ns = False, 0
        while True:
            mean_s = self.bad if is_bad else self.good
            time_ns += max(1, nanoseconds(draw.expovariate(1 / mean_s)))
            if time_ns >= end_ns:
                return
            is_bad = not is_bad
            yield time_ns / NS_PER_S, self.bad_loss if is_bad else self.good_loss
