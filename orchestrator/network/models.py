"""What a channel of a network has: its queue, policer and trace, and models of impairments."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from orchestrator.protocol.links import netem
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.links.frames import OPPORTUNITY_BYTES
from orchestrator.protocol.links.qdisc import Qdisc


@dataclass(frozen=True)
class Queue:
    """A link's queue in one direction; exactly one of the limits is set.

    ``limit_packets`` counts packets of any size, ``limit_bytes`` link-layer bytes. ``qdisc`` has
    the kernel's settings. ``drops_queued`` tells whether it may drop packets that it has queued.
    """

    kind: str
    qdisc: Qdisc
    limit_packets: int | None = None
    limit_bytes: int | None = None
    drops_queued: bool = False


@dataclass(frozen=True)
class Policer:
    """A token bucket that drops packets above its rate and never queues; in link-layer units."""

    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True)
class Trace:
    """A capacity as opportunities to send a full-size frame; it repeats.

    ``opportunities`` are (millisecond, frames) in the order of time, none later than ``period_ms``,
    after which they repeat. ``file`` and ``sha256`` are those of the trace file.
    """

    file: str
    sha256: str
    period_ms: int
    opportunities: tuple[tuple[int, int], ...]

    @property
    def rate_bps(self) -> int:
        """The mean rate on mahimahi's link layer, whose header is TUN's."""
        return self._frames * OPPORTUNITY_BYTES * 8 * 1000 // self.period_ms

    @cached_property
    def constant(self) -> bool:
        """Whether the rate is constant: each opportunity is within 1 ms of an even spacing."""
        before = 0
        ahead: list[int] = []
        for time_ms, number in self.opportunities:
            even = time_ms * self._frames
            ahead += (before * self.period_ms - even, (before + number) * self.period_ms - even)
            before += number
        return max(ahead) - min(ahead) <= self._frames + self.period_ms

    @cached_property
    def _frames(self) -> int:
        """The number of opportunities in a period."""
        return sum(number for _time, number in self.opportunities)

    def until(self, end_ms: int) -> Iterator[tuple[int, int]]:
        """Yield (millisecond, frames) up to and including ``end_ms``, each millisecond once."""
        last_ms = frames = 0
        for begin_ms in itertools.count(0, self.period_ms):
            for time_ms, number in self.opportunities:
                if begin_ms + time_ms != last_ms:
                    if frames:
                        yield last_ms, frames
                    last_ms, frames = begin_ms + time_ms, 0
                if last_ms > end_ms:
                    return
                frames += number


@dataclass(frozen=True)
class Steps:
    """A value that changes at given times, such as a delay by a recorded trace.

    ``steps`` are (nanosecond, value from then on) in the order of time, the first one at 0. The
    last value lasts until ``period_ns``, after which they repeat; it stays if that is None. The
    run begins at ``offset_ns`` of them. ``file`` and ``sha256`` are those of the trace file.
    """

    file: str
    sha256: str
    steps: tuple[tuple[int, float], ...]
    period_ns: int | None = None
    offset_ns: int = 0

    @cached_property
    def first(self) -> float:
        """The value as the run begins."""
        return self._at(self.offset_ns)

    @property
    def least(self) -> float:
        """The smallest value."""
        return min(value for _time_ns, value in self.steps)

    @property
    def most(self) -> float:
        """The largest value."""
        return max(value for _time_ns, value in self.steps)

    @property
    def per_s(self) -> float:
        """Mean number of steps in a second."""
        lasts_ns = self.period_ns or self.steps[-1][0]
        return len(self.steps) * 1e9 / lasts_ns if lasts_ns else 0.0

    def last(self, end_ns: int) -> float:
        """Return the value right before ``end_ns`` of the run, which is above 0."""
        return self._at(self.offset_ns + end_ns - 1)

    def changes(self, end_ns: int) -> Iterator[tuple[int, float]]:
        """Yield (ns since the start of the run, value from then on) of each change before the end.

        A step to the same value is no change.
        """
        before = self.first
        begins_ns = itertools.count(0, self.period_ns) if self.period_ns else iter((0,))
        for begin_ns in begins_ns:
            for step_ns, value in self.steps:
                time_ns = begin_ns + step_ns - self.offset_ns
                if time_ns >= end_ns:
                    return
                if time_ns > 0 and value != before:
                    yield time_ns, value
                    before = value

    def _at(self, time_ns: int) -> float:
        if self.period_ns is not None:
            time_ns %= self.period_ns
        place = bisect.bisect_right(self.steps, time_ns, key=lambda step: step[0])
        return self.steps[place - 1][1]


class LossModel(Protocol):
    """A channel's loss model; the models are in ``orchestrator.kinds.losses``."""

    @property
    def kind(self) -> str:
        """Name of the model."""

    @property
    def caption(self) -> str:
        """What a drawing writes before the mean loss, such as "markov loss"."""

    @property
    def netem_resets(self) -> bool:
        """Whether netem resets its state when the delay changes."""

    @property
    def mean(self) -> float:
        """Long-run probability that a packet is lost."""

    @property
    def chosen(self) -> ChosenPackets | None:
        """The packets that it loses by their numbers; None of models that lose by chance."""

    @property
    def loses(self) -> bool:
        """Whether it may lose a packet."""

    def impairment(self) -> netem.Loss:
        """Return the loss by chance as the run begins."""

    def drops(self, packets: int, chance: float, hidden: float = 0.0) -> tuple[int, int]:
        """Return the least and largest plausible number of drops with ``impairment()``."""

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time in seconds, probability from then on) while the run lasts."""

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The probabilities that ``changes()`` yields."""

    @property
    def states_per_s(self) -> float:
        """Mean number of states per second that it enters by its own clock."""


class RateModel(Protocol):
    """A model that changes a channel's rate by its own clock."""

    def rates(self, seed: int, duration_s: float) -> Iterator[tuple[float, int]]:
        """Yield (time in seconds, rate in bit/s from then on) while the run lasts."""


class JitterModel(Protocol):
    """A model of varying delays; see orchestrator.kinds.impairments."""

    @property
    def keep_order(self) -> bool:
        """Whether packets never overtake each other."""

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Largest deviation of a packet's delay below and above the channel's, in ns."""

    @property
    def states_per_s(self) -> float:
        """Mean number of delays per second of the channel, 0 when each packet draws its own."""

    def impairment(self) -> netem.Jitter:
        """Return the jitter as it begins."""

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, netem.Jitter]]:
        """Yield (time in seconds, jitter from then on) while the run lasts."""


class ReorderingModel(Protocol):
    """A model of packets that skip the delay; see orchestrator.kinds.impairments."""

    @property
    def probability(self) -> float:
        """Probability that a packet skips the delay, after ``gap`` - 1 that did not."""

    @property
    def gap(self) -> int:
        """Least distance, in packets, between two packets that skip the delay."""

    def impairment(self) -> netem.Reordering | None:
        """Return the reordering, None when no packet is ever reordered."""
