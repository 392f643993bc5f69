"""Impairments of a link besides loss: jitter, reordering, duplication and corruption.

All are settings of one sch_netem (net/sched/sch_netem.c).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.kinds import jitter_tables
from orchestrator.kinds.fields import (
    Chance,
    Directional,
    Duration,
    Probability,
    Strict,
    Time,
)
from orchestrator.protocol.qdisc import Setting
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.units import chance_threshold

# Attributes in TCA_OPTIONS, places in struct tc_netem_qopt: include/uapi/linux/pkt_sched.h
_DELAY_DIST, _REORDER, _CORRUPT, _RATE, _RATE64, _JITTER64 = (2,), (3,), (4,), (6,), (8,), (11,)
_GAP_OFFSET, _DUPLICATE_OFFSET = 12, 16

_SPREAD_MOST_NS = 2**31 - 1
"""sch_netem keeps a jitter in 31 bits and truncates a larger one without an error."""
_NO_TIME_BYTES_PER_S = 2**62
"""A rate at which a packet takes no time; netem with a rate keeps the order of packets."""
_SCALE = jitter_tables.SCALE


class _Short(Strict):
    """A mapping that may be written as the single value of its key ``short``."""

    short: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_one_value(cls, data: Any) -> Any:
        return data if isinstance(data, (dict, cls)) else {cls.short: data}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler(schema)
        one = dict(handler.resolve_ref_schema(whole)["properties"][cls.short])
        for word in ("title", "description", "default"):
            one.pop(word, None)
        return {"anyOf": [one, whole]}


class Jitter(_Short):
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
        "0s is no jitter"
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
        if nanoseconds(spread) > _SPREAD_MOST_NS:
            raise ValueError("a spread may be 2.147s at most: netem keeps it in 31 bits")
        return spread

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        each = handler(self)
        alone = (self.distribution, self.keep_order, self.correlation) == ("uniform", False, None)
        return each["spread"] if alone else each

    @property
    def reach_ns(self) -> tuple[int, int]:
        """How far a delay may be below and above the mean, in whole nanoseconds."""
        spread_ns = nanoseconds(self.spread)
        if self.distribution == "uniform":
            return spread_ns, spread_ns
        table = jitter_tables.table(self.distribution)
        return -(spread_ns * min(table) // _SCALE), -(-spread_ns * max(table) // _SCALE)

    def netem(self, tabled: bool = False) -> tuple[Setting, ...]:
        """Return the settings of sch_netem when the jitter begins, without that of the order.

        ``tabled`` tells that sch_netem has had a table, which it never drops. A uniform
        distribution is then also a table, of 4096 steps over the width.
        """
        if not self.spread:
            return no_jitter()
        if self.correlation is not None:
            return self._at(0)
        spread = Setting("jitter_ns", _JITTER64, nanoseconds(self.spread), "q")
        if self.distribution == "uniform" and not tabled:
            return (spread,)
        packed = jitter_tables.packed(jitter_tables.table(self.distribution))
        return spread, _table_setting(packed)

    @property
    def has_table(self) -> bool:
        """Whether sch_netem is given a table."""
        return bool(self.spread) and (
            self.distribution != "uniform" or self.correlation is not None
        )

    def _at(self, offset_ns: int) -> tuple[Setting, ...]:
        """Return the settings that add an offset to every packet's delay: a table of one entry."""
        sign = _SCALE if offset_ns >= 0 else -_SCALE
        spread = Setting("jitter_ns", _JITTER64, abs(offset_ns), "q")
        return spread, _table_setting(jitter_tables.packed((sign,)))

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, tuple[Setting, ...]]]:
        """Yield (time in seconds, settings from then on) of correlated jitter during the run.

        Times increase from 0. Equal seeds yield equal changes.
        """
        if not self.states_per_s:
            return
        assert self.correlation is not None
        draw = random.Random(seed)
        end_ns, time_ns = nanoseconds(duration_s), 0
        while time_ns < end_ns:
            yield time_ns / NS_PER_S, self._at(self._drawn_ns(draw))
            time_ns += max(1, nanoseconds(draw.expovariate(1 / self.correlation)))

    def _drawn_ns(self, draw: random.Random) -> int:
        spread_ns = nanoseconds(self.spread)
        if self.distribution == "uniform":
            return round(draw.uniform(-spread_ns, spread_ns))
        return round(spread_ns * draw.choice(jitter_tables.table(self.distribution)) / _SCALE)

    @property
    def states_per_s(self) -> float:
        """Mean number of delays that the link has in a second."""
        return 0.0 if self.correlation is None or not self.spread else 1 / self.correlation


class Reordering(_Short):
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
        each = handler(self)
        return each["probability"] if self.gap == 1 else each

    def netem(self) -> tuple[Setting, ...]:
        """Return the settings of sch_netem, none when no packet is ever reordered."""
        return _reordered(self.gap, self.probability) if self.probability else ()


def no_jitter() -> tuple[Setting, ...]:
    """Return netem's settings for delays that do not vary."""
    return (Setting("jitter_ns", _JITTER64, 0, "q"),)


def no_reordering() -> tuple[Setting, ...]:
    """Return netem's settings for delaying every packet."""
    return _reordered(0, 0.0)


def _reordered(gap: int, probability: float) -> tuple[Setting, ...]:
    return (
        Setting("reorder_gap_packets", (), gap, offset=_GAP_OFFSET),
        Setting("reorder_q32", _REORDER, chance_threshold(probability)),
        Setting("reorder_correlation_q32", _REORDER, 0, offset=4),
    )


def kept_order() -> Setting:
    """Return netem's setting that keeps the order of packets."""
    return Setting("rate_bytes_per_s", _RATE64, _NO_TIME_BYTES_PER_S, "Q")


def order(kept: bool) -> tuple[Setting, ...]:
    """Return netem's settings that switch the keeping of the order on or off.

    netem takes the larger of a 32-bit and a 64-bit rate. It reports a rate above 32 bits in both,
    and any other only in the 32-bit one.
    """
    small = Setting("rate32_bytes_per_s", _RATE, 0, reads=2**32 - 1 if kept else 0)
    end = Setting("rate_cell_overhead_bytes", _RATE, 0, offset=12)
    free = Setting("rate_bytes_per_s", _RATE64, 0, "Q", verified=False)
    return kept_order() if kept else free, small, end


def duplication(probability: float) -> Setting:
    """Return netem's setting for sending a packet twice with that probability."""
    return Setting("duplicate_q32", (), chance_threshold(probability), offset=_DUPLICATE_OFFSET)


def corruption(probability: float) -> tuple[Setting, ...]:
    """Return netem's settings for flipping one bit of a packet with that probability."""
    return (
        Setting("corrupt_q32", _CORRUPT, chance_threshold(probability)),
        Setting("corrupt_correlation_q32", _CORRUPT, 0, offset=4),
    )


def _table_setting(packed: bytes) -> Setting:
    # The kernel does not report its table.
    return Setting("jitter_table", _DELAY_DIST, packed.hex(), "s", verified=False)


_FORWARD = "from the link's left (sources) to its right (sinks)"
_REVERSE = "from the link's right (sinks) to its left (sources)"


class JitterBothWays(Directional[Jitter | None]):
    """The jitter of each direction; none where it is not given."""

    forward: Jitter | None = Field(default=None, description=_FORWARD)
    reverse: Jitter | None = Field(default=None, description=_REVERSE)


class ReorderingBothWays(Directional[Reordering | None]):
    """The reordering of each direction; none where it is not given."""

    forward: Reordering | None = Field(default=None, description=_FORWARD)
    reverse: Reordering | None = Field(default=None, description=_REVERSE)


class ChanceBothWays(Directional[Chance]):
    """A probability of each direction; never where it is not given."""

    forward: Chance = Field(default=0.0, description=_FORWARD)
    reverse: Chance = Field(default=0.0, description=_REVERSE)
