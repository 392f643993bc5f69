"""Tells when the traffic of a guest ends so soon that the next guest can boot meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable


class NextStart:
    """Calls ``begin`` once, when what is left of a run takes no longer than its start took.

    The start is all before traffic: the boot, the network and its probes. The next run's is
    expected to take as long. What is left is estimated by the speed of the traffic so far.

    Args:
        duration_s: duration of the run's traffic.
        begin: lets the next run begin.
        clock: returns the wall time in seconds.
    """

    def __init__(
        self,
        duration_s: float,
        begin: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._duration_s, self._begin, self._clock = duration_s, begin, clock
        self._began_s = clock()
        self._first: tuple[float, float] | None = None
        self._called = False

    def update(self, phase: str, simulated_s: float) -> None:
        """Note the guest's progress, as ``contract.Report`` has it."""
        if self._called or phase != "traffic":
            return
        now_s = self._clock()
        if self._first is None:
            self._first = now_s, simulated_s
            return
        traffic_began_s, first_s = self._first
        grown_s, took_s = simulated_s - first_s, now_s - traffic_began_s
        start_s, left_s = traffic_began_s - self._began_s, self._duration_s - simulated_s
        if grown_s > 0 and left_s * took_s / grown_s <= start_s:
            self._called = True
            self._begin()
