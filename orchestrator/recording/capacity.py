"""The capacity of a link over a span of time, at a rate that may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import QueueRecord

Seconds = npt.NDArray[np.float64]


class Capacity:
    """A rate as a function of time; the first step's rate also holds before it.

    Args:
        steps: (seconds since the start of traffic, bit/s from then on), in the order of time.
    """

    def __init__(self, steps: Sequence[tuple[float, int]]) -> None:
        self.steps = steps
        self._times = np.array([time_s for time_s, _rate in steps])
        self._rates = np.array([rate_bps for _time, rate_bps in steps], float)
        self._bits = np.concatenate(
            ([0.0], np.cumsum(np.diff(self._times) * self._rates[:-1]))
        )  # carried from the first step to each

    @classmethod
    def of(cls, queue: QueueRecord) -> Capacity | None:
        """Return the capacity of a queue's link, None when it has no rate."""
        if queue.rate_steps:
            return cls(queue.rate_steps)
        return None if queue.rate_bps is None else cls([(0.0, queue.rate_bps)])

    def bits(self, from_s: Any, to_s: Any) -> Any:
        """Return the bits that can pass between two times, or arrays of times, in seconds."""
        if len(self.steps) == 1:
            return (to_s - from_s) * self._rates[0]
        return self._until(np.asarray(to_s)) - self._until(np.asarray(from_s))

    def drain_s(self, time_s: Seconds, backlog_bits: Seconds) -> Seconds:
        """Return how long each backlog takes to drain from its time on; inf if it never does."""
        if len(self.steps) == 1:
            return backlog_bits / np.float64(self._rates[0])
        target = self._until(time_s) + backlog_bits
        # The last step at whose begin the target is not reached yet. Its rate is above zero, or no
        # step follows.
        place = np.clip(np.searchsorted(self._bits, target, side="left") - 1, 0, None)
        with np.errstate(divide="ignore", invalid="ignore"):
            end_s = self._times[place] + (target - self._bits[place]) / self._rates[place]
        return np.where(backlog_bits > 0, end_s - time_s, 0.0)

    def _until(self, time_s: Seconds) -> Seconds:
        """Return the bits from the first step to a time, less than zero before it."""
        place = np.clip(np.searchsorted(self._times, time_s, side="right") - 1, 0, None)
        until: Seconds = self._bits[place] + (time_s - self._times[place]) * self._rates[place]
        return until
