"""What a real machine did besides the run, and what that may explain.

In virtual time there is nothing of this. In real time every timer is late by what the machine needs
to wake something up: a link's delay is longer by that, and a rate falls short once its bucket
is full. How late is measured in each run (testbed/sampling/host_load.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.protocol import facts

MOST_DELAY_S = 1e-3
"""99 of 100 wake-ups are to be less late."""

UNUSABLE_DELAY_S = 50e-3
"""So late, half of a round trip of the quickstart, nothing is what was asked for."""

MOST_OTHERS = 0.2
MOST_BUSY = 0.9
"""Shares of the bed's CPU that others may use, and that may be used at all."""

TIMER_S = 250e-6
"""What each delay on a path may be longer than asked for: a timer, and what the packet costs.

It was 0.13 to 0.18 ms in User Mode Linux in real time on a virtual machine that had other work.
"""

RATE_TOLERANCE = 0.01
"""Of rates in real time: what a few timers lose that come later than a token bucket holds."""


@dataclass(frozen=True)
class Host:
    """What was seen of one machine while traffic ran; see ``protocol.facts.Host``.

    ``late_timers_s`` is how much time's worth of bytes the token buckets hold beside a frame.
    """

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
    late_timers_s: float

    @classmethod
    def of(cls, fact: facts.Host) -> Host:
        """Return what the fact ``host`` says; shares are means over its seconds."""
        seconds: Sequence[Mapping[str, Any]] = fact["seconds"]
        worst = max(range(len(seconds)), key=lambda second: seconds[second]["late_ns"])
        return cls(
            fact["node"],
            fact["cpu"],
            fact["wakeups"],
            fact["late_ns"]["p99"] / 1e9,
            fact["late_ns"]["max"] / 1e9,
            worst,
            late_timers_s=fact.get("late_timers_ns", 0) / 1e9,
            **{
                name: sum(second[name] for second in seconds) / len(seconds)
                for name in ("others", "steal", "own", "softirq")
            },
        )

    @property
    def outside(self) -> float:
        """The share of the bed's CPU that others had, on this machine or on the one below it."""
        return self.others + self.steal

    @property
    def busy(self) -> float:
        """The share of the bed's CPU that the run itself used."""
        return self.own + self.softirq

    @property
    def slow(self) -> bool:
        """Whether it was too slow or too busy for its timing to be vouched for."""
        return self.late_p99_s > MOST_DELAY_S or self.outside > MOST_OTHERS or self.busy > MOST_BUSY
