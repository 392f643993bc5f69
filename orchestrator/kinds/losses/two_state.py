"""Two states of fixed durations: the wireless channel of Grieco & Mascolo's Westwood+ paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import Chance, Duration, Probability
from orchestrator.kinds.losses import LossSpec
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.protocol.units import NS_PER_S, nanoseconds


class TwoState(LossSpec):
    """A channel that stays Good or Bad for a fixed time, then draws the next state.

    It begins Good. Source: Grieco & Mascolo's Westwood+ paper, section 3.4. There Good lasts 1 s
    without loss, and Bad 0.1 ms to 1 s with a loss of 10%. At each expiry either state comes next
    with equal probability. So a state may last several times its duration. The controller draws
    from the run's seed, and the test bed changes the loss at the exact times.
    """

    kind: Literal["two-state"] = Field(description="two states that last for fixed times")
    good: Duration = Field(default=1.0, description="duration of Good, such as 1s")
    bad: Duration = Field(description="duration of Bad, such as 10ms")
    good_loss: Chance = Field(default=0.0, description="loss of each packet in Good")
    bad_loss: Probability = Field(default=0.1, description="loss of each packet in Bad")
    bad_next: Chance = Field(
        default=0.5, description="probability that Bad comes next when a state expires"
    )

    @property
    def mean(self) -> float:
        """The loss in the long run, of packets spread evenly over time."""
        good_s, bad_s = (1 - self.bad_next) * self.good, self.bad_next * self.bad
        return (good_s * self.good_loss + bad_s * self.bad_loss) / (good_s + bad_s)

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The losses of Good and Bad."""
        return self.good_loss, self.bad_loss

    @property
    def states_per_s(self) -> float:
        """Mean number of expiries in a second."""
        return 1 / ((1 - self.bad_next) * self.good + self.bad_next * self.bad)

    def impairment(self) -> IndependentLoss:
        """Return the loss of Good, which comes first."""
        return IndependentLoss(self.good_loss)

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time, loss from then on) whenever an expiry changes the state."""
        draw = random.Random(seed)
        end_ns = nanoseconds(duration_s)
        lasts_ns = {False: nanoseconds(self.good), True: nanoseconds(self.bad)}
        is_bad, time_ns = False, lasts_ns[False]
        while time_ns < end_ns:
            was_bad, is_bad = is_bad, draw.random() < self.bad_next
            if is_bad != was_bad:
                yield time_ns / NS_PER_S, self.bad_loss if is_bad else self.good_loss
            time_ns += lasts_ns[is_bad]
