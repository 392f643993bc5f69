"""The load and the timer lateness of a real machine during a run, and the limits for them.

In virtual time neither exists. In real time every timer fires late by the time of a wake-up. So
each delay of a link is longer, and a rate is too low if the bucket fills meanwhile. Each run
measures the lateness (testbed/sampling/host_load.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.protocol.reports import facts

MOST_DELAY_S = 1e-3
"""Limit of the 99th percentile of the wake-ups' lateness."""

UNUSABLE_DELAY_S = 50e-3
"""Above this lateness (half of the quickstart's RTT) a run is unfaithful."""

MOST_OTHERS = 0.2
MOST_BUSY = 0.9
"""Limits of the shares of the bed's CPU that others use, and that the run uses."""

TIMER_S = 250e-6
"""How much longer than requested each delay of a path may be, for a timer and the packet's cost.

It was 0.13 to 0.18 ms in User Mode Linux in real time on a virtual machine that had other work.
"""

RATE_TOLERANCE = 0.01
"""Tolerance of rates in real time, where frames at the ends of a measurement may leave late."""


@dataclass(frozen=True)
class HostLoad:
    """Measurements of one machine while traffic ran, from the fact ``host``."""

    name: str
    cpu: int
    wakeups: int
    late_p99_s: float
    late_max_s: float
    late_max_second: int
    others: float
    steal: float
    own: float
    softirq: float

    @classmethod
    def of(cls, fact: facts.Host) -> HostLoad:
        """Return the values of a fact ``host``; shares are means over its seconds."""
        seconds: Sequence[Mapping[str, Any]] = fact["seconds"]
        worst = max(range(len(seconds)), key=lambda second: seconds[second]["late_ns"])
        return cls(
            fact["node"],
            fact["cpu"],
            fact["wakeups"],
            fact["late_ns"]["p99"] / 1e9,
            fact["late_ns"]["max"] / 1e9,
            worst,
            **{
                name: sum(second[name] for second in seconds) / len(seconds)
                for name in ("others", "steal", "own", "softirq")
            },
        )

    @property
    def outside(self) -> float:
        """The share of the bed's CPU that other processes or the hypervisor (steal) used."""
        return self.others + self.steal

    @property
    def busy(self) -> float:
        """The share of the bed's CPU that the run used."""
        return self.own + self.softirq

    @property
    def slow(self) -> bool:
        """Whether it was too slow or too busy for reliable timing."""
        return self.late_p99_s > MOST_DELAY_S or self.outside > MOST_OTHERS or self.busy > MOST_BUSY
