"""Impairments of a link besides loss: jitter, reordering, duplication and corruption.

The models describe the effect on packets. ``orchestrator.protocol.links.netem`` turns them into
settings of the kernel.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from orchestrator.kinds import jitter_tables
from orchestrator.kinds.fields import (
    Chance,
    Directional,
    Duration,
    Probability,
    ShortForm,
    Time,
)
from orchestrator.protocol.links import netem
from orchestrator.protocol.units import NS_PER_S, nanoseconds


class Jitter(ShortForm):
    """Delays that vary around the link's delay; a time alone stands for the spread.

    Each packet draws its own delay. So **packets overtake each other** when they are closer
    together than the spread. This is how netem works: the delays have exactly the distribution, and
    the order is not kept.

    With `keep_order` a packet leaves no earlier than the one before it. Delays of packets close
    together are then alike, and longer on average.

    With `correlation` the delay belongs to the link instead of the packet. It is drawn again at
    exponentially distributed intervals with that mean. The delay then has exactly that
    distribution, and the autocorrelation exp(-t / mean). netem's own correlation of jitter is not
    supported. It selects delays by the lowest bits of its correlated numbers, and these are as good
    as independent (Linux 6.12, measured).
    """

    short = "spread"

    spread: Time = Field(
        description="half the width of a uniform distribution, else the standard deviation; "
        "0s is no jitter, and 2.147s is the most"
    )
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"] = Field(
        default="uniform",
        description="distribution of the delay around its mean, the link's `delay`. pareto has "
        "shape 3; paretonormal is a quarter normal and three quarters pareto. None reaches "
        "farther than 4 spreads",
    )
    keep_order: bool = Field(default=False, description="whether packets never overtake each other")
    correlation: Duration | None = Field(
        default=None, description="mean time for which the link keeps a delay, such as 100ms"
    )

    @field_validator("spread")
    @classmethod
    def _fits(cls, spread: float) -> float:
        if nanoseconds(spread) > netem.SPREAD_MOST_NS:
            raise ValueError("a spread may be 2.147s at most: netem keeps it in 31 bits")
        return spread

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        jitter = handler(self)
        alone = (self.distribution, self.keep_order, self.correlation) == ("uniform", False, None)
        return jitter["spread"] if alone else jitter

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Largest deviation of a delay below and above the mean, in whole nanoseconds."""
        spread_ns = nanoseconds(self.spread)
        if self.distribution == "uniform":
            return spread_ns, spread_ns
        table = jitter_tables.table(self.distribution)
        return -(spread_ns * min(table) // netem.TABLE_SCALE), -(
            -spread_ns * max(table) // netem.TABLE_SCALE
        )

    def impairment(self) -> netem.Jitter:
        """Return the jitter as it begins."""
        if self.correlation is not None and self.spread:
            return netem.Jitter.offset(0)
        tabled = self.spread and self.distribution != "uniform"
        table = jitter_tables.table(self.distribution) if tabled else None
        return netem.Jitter(nanoseconds(self.spread), table)

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, netem.Jitter]]:
        """Yield (time in seconds, jitter from then on) of correlated jitter during the run.

        Times increase from 0. Equal seeds give equal changes.
        """
        if not self.states_per_s:
            return
        assert self.correlation is not None
        draw = random.Random(seed)
        end_ns, time_ns = nanoseconds(duration_s), 0
        while time_ns < end_ns:
            yield time_ns / NS_PER_S, netem.Jitter.offset(self._drawn_ns(draw))
            time_ns += max(1, nanoseconds(draw.expovariate(1 / self.correlation)))

    def _drawn_ns(self, draw: random.Random) -> int:
        spread_ns = nanoseconds(self.spread)
        if self.distribution == "uniform":
            return round(draw.uniform(-spread_ns, spread_ns))
        return round(
            spread_ns * draw.choice(jitter_tables.table(self.distribution)) / netem.TABLE_SCALE
        )

    @property
    def states_per_s(self) -> float:
        """Mean number of delays that the link has in a second."""
        return 0.0 if self.correlation is None or not self.spread else 1 / self.correlation


class Reordering(ShortForm):
    """Packets that are sent at once, ahead of delayed ones; a probability alone is `probability`.

    After `gap` - 1 delayed packets each packet is sent at once with that probability, until one is.
    The link needs a delay, because otherwise there is nothing to overtake.
    """

    short = "probability"

    probability: Probability = Field(
        default=1.0, description="probability that a packet is sent at once"
    )
    gap: int = Field(
        default=1,
        ge=1,
        le=2**32 - 1,
        description="1: any packet may be sent at once; 5 with 100%: every fifth packet is",
    )

    @model_validator(mode="after")
    def _some_are_delayed(self) -> Reordering:
        if self.probability == 1 and self.gap == 1:
            raise ValueError("with 100% and a `gap` of 1 no packet would be delayed at all")
        return self

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        reordering = handler(self)
        return reordering["probability"] if self.gap == 1 else reordering

    def impairment(self) -> netem.Reordering | None:
        """Return the reordering, None when no packet is ever reordered."""
        return netem.Reordering(self.probability, self.gap) if self.probability else None


_FORWARD = "from the link's left (sources) to its right (sinks)"
_REVERSE = "from the link's right (sinks) to its left (sources)"


class JitterBothWays(Directional[Jitter | None]):
    """The jitter of each direction; none by default."""

    forward: Jitter | None = Field(default=None, description=_FORWARD)
    reverse: Jitter | None = Field(default=None, description=_REVERSE)


class ReorderingBothWays(Directional[Reordering | None]):
    """The reordering of each direction; none by default."""

    forward: Reordering | None = Field(default=None, description=_FORWARD)
    reverse: Reordering | None = Field(default=None, description=_REVERSE)


class ChanceBothWays(Directional[Chance]):
    """A probability of each direction; 0 by default."""

    forward: Chance = Field(default=0.0, description=_FORWARD)
    reverse: Chance = Field(default=0.0, description=_REVERSE)
