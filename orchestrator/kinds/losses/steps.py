"""A loss that changes at given times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from orchestrator.kinds.fields import Duration, Probability, Time
from orchestrator.kinds.losses import LossSpec
from orchestrator.network import Steps
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.protocol.units import NS_PER_S, nanoseconds


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


LossStep = Annotated[tuple[Time, Probability], BeforeValidator(_pair)]


class StepLoss(LossSpec):
    """A probability that changes at given times.

    Each packet is lost independently, with the probability of its time.
    """

    kind: Literal["steps"] = Field(description="a probability that changes at given times")
    steps: list[LossStep] = Field(
        min_length=1,
        max_length=100_000,
        description="pairs of a time since the start of traffic and the probability from then on, "
        "such as [[0s, 0%], [5s, 2%]]; the first time is 0",
    )
    period: Duration | None = Field(
        default=None, description="time after which the steps repeat; never when not given"
    )
    offset: Time = Field(default=0.0, description="where in the steps the run begins")

    @model_validator(mode="after")
    def _ordered(self) -> StepLoss:
        times = [nanoseconds(time_s) for time_s, _loss in self.steps]
        if times[0]:
            raise ValueError("the first time of `steps` must be 0s")
        if any(later <= time for time, later in itertools.pairwise(times)):
            raise ValueError("each time of `steps` must be after the one before it")
        if self.period is not None and nanoseconds(self.period) <= times[-1]:
            raise ValueError("`period` must be longer than the last time of `steps`")
        return self

    @property
    def caption(self) -> str:
        """What a drawing writes before the mean loss."""
        return "loss in steps"

    @cached_property
    def _as_steps(self) -> Steps:
        steps = tuple((nanoseconds(time_s), loss) for time_s, loss in self.steps)
        period_ns = None if self.period is None else nanoseconds(self.period)
        return Steps("", "", steps, period_ns, nanoseconds(self.offset) % (period_ns or 2**63))

    @property
    def mean(self) -> float:
        """The loss over the steps, of packets spread evenly over time.

        Without a period, the time after the last step does not count, unless it is the only one.
        """
        return self._mean

    @cached_property
    def _mean(self) -> float:
        end_s = self.steps[-1][0] if self.period is None else self.period
        if not end_s:
            return self.steps[0][1]
        ends = [*(time_s for time_s, _loss in self.steps[1:]), end_s]
        pairs = zip(self.steps, ends, strict=True)
        return sum(loss * (until_s - time_s) for (time_s, loss), until_s in pairs) / end_s

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The losses of the steps."""
        return self._losses

    @cached_property
    def _losses(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(loss for _time_s, loss in self.steps))

    @property
    def states_per_s(self) -> float:
        """Mean number of steps in a second."""
        return self._as_steps.per_s

    def impairment(self) -> IndependentLoss:
        """Return the loss as the run begins."""
        return IndependentLoss(self._as_steps.first)

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time, loss from then on) of each step of the run that changes the loss."""
        del seed
        for time_ns, loss in self._as_steps.changes(nanoseconds(duration_s)):
            yield time_ns / NS_PER_S, loss
