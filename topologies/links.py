"""Links in a scenario, and the channels that they describe."""

from __future__ import annotations

import random
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.kinds.fields import (
    Delay,
    Directional,
    Path,
    Rate,
    RateBothWays,
    Size,
    Strict,
)
from orchestrator.kinds.files.capacity import Capacity, CapacityBothWays
from orchestrator.kinds.files.step_traces import DelayTrace, LinkDelayBothWays
from orchestrator.kinds.impairments import (
    ChanceBothWays,
    JitterBothWays,
    ReorderingBothWays,
)
from orchestrator.kinds.losses import LossBothWays, LossSpec
from orchestrator.kinds.losses.independent import Independent
from orchestrator.kinds.queues import QueueBothWays
from orchestrator.kinds.queues.droptail import DropTail
from orchestrator.network import Channel, DirectionName, Link, Policer, Steps, Trace
from orchestrator.protocol.links.frames import (
    DEFAULT_MTU_BYTES,
    ETHERNET_BYTES,
    LEAST_MTU_BYTES,
    MOST_MTU_BYTES,
)
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.units import Limit, parse_limit
from topologies.base import RequestedQueue

DIRECTIONS: tuple[DirectionName, DirectionName] = ("forward", "reverse")
ACCESS_LIMIT = Limit(packets=100_000)
"""A limit at which no packet is lost: more than the largest window of a flow."""
_LONGEST_BURST_S = 60


def no_loss() -> LossBothWays:
    """Return the default loss of a link, which is none."""
    none = Independent(probability=0.0)
    return LossBothWays(forward=none, reverse=none)


def one_bdp() -> QueueBothWays:
    """Return the default queue of a bottleneck: drop-tail of one BDP."""
    queue = DropTail(limit=parse_limit("1bdp"))
    return QueueBothWays(forward=queue, reverse=queue)


class Spread(Strict):
    """One time for all hosts of a group, or times evenly spaced over the hosts, or drawn times.

    Host i of n (from 0) has ``from`` + (``to`` - ``from``) i / (n - 1), both ends included. A
    single host has ``to``. With ``above`` it has ``above`` + (``to`` - ``above``) (i + 1) / n, and
    the lower end is left out. So ``{above: 20ms, to: 250ms}`` are the RTTs over [20 + 230/n, 250]
    ms of Grieco & Mascolo.

    Drawn times are uniform over ``from`` to ``to`` in steps of 1 us, from the run's seed. Each
    repetition has other draws, and all variants of a matrix have the same. An ``rtt`` is drawn for
    each pair of hosts, a ``delay`` for each link.
    """

    from_: Delay | None = Field(default=None, alias="from", description="value of the first host")
    above: Delay | None = Field(
        default=None, description="instead of `from`: the first host is a step above it"
    )
    to: Delay = Field(description="value of the last host")
    drawn: bool = Field(
        default=False,
        description="draw uniformly between `from` and `to` instead of spacing evenly",
    )

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, data: Any) -> Any:
        return data if isinstance(data, dict | Spread) else {"from": data, "to": data}

    @model_validator(mode="after")
    def _ordered(self) -> Spread:
        if (self.from_ is None) == (self.above is None):
            raise ValueError("give `to` and one of `from` and `above`")
        if self.drawn and self.from_ is None:
            raise ValueError("with `drawn` give `from` and `to`, not `above`")
        if self.above is not None and self.above >= self.to:
            raise ValueError("`above` must be less than `to`")
        if self.from_ is not None and self.from_ > self.to:
            raise ValueError("`from` must not be more than `to`")
        return self

    def at_ns(self, index: int, hosts: int, draw: float) -> int:
        """Return the time of host ``index`` of ``hosts``, in whole nanoseconds.

        ``draw`` is a random number from 0 to below 1, which a drawn time uses.
        """
        begin_ns = nanoseconds((self.above if self.from_ is None else self.from_) or 0.0)
        to_ns = nanoseconds(self.to)
        if self.drawn:
            return begin_ns + int(draw * ((to_ns - begin_ns) // 1000 + 1)) * 1000
        if self.above is not None:
            return begin_ns + round((to_ns - begin_ns) * (index + 1) / hosts)
        return begin_ns + round((to_ns - begin_ns) * index / (hosts - 1)) if hosts > 1 else to_ns

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        spread = handler(self)
        if not self.drawn:
            spread.pop("drawn", None)
        return spread["to"] if self.from_ == self.to else spread

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        each = handler(schema)
        one = dict(handler.resolve_ref_schema(each)["properties"]["to"])
        one.pop("description", None)
        one.pop("title", None)
        return {"anyOf": [one, each]}


class SpreadBothWays(Directional[Spread]):
    """The times of each direction."""


def drawn(seed: int, what: str, group: int, number: int) -> float:
    """Return the draw, from 0 to below 1, for a time of a group's pair or link of that number."""
    return random.Random(f"{seed}:{what}:{group}:{number}").random()


def delays_s(delay: SpreadBothWays, i: int, hosts: int, draw: float) -> tuple[float, float]:
    """Return forward and reverse delay of host i's link, in seconds."""
    directions = (delay.forward, delay.reverse)
    forward_s, reverse_s = (direction.at_ns(i, hosts, draw) / NS_PER_S for direction in directions)
    return forward_s, reverse_s


class PolicerSpec(Strict):
    """Drops what exceeds a rate at a link's entry, and never queues (a token bucket)."""

    rate: Rate = Field(description="bit/s on the link layer, such as 10mbit")
    burst: Size = Field(description="size of the bucket in link-layer bytes: what may pass at once")

    @model_validator(mode="after")
    def _fits(self) -> PolicerSpec:
        if self.burst * 8 > self.rate * _LONGEST_BURST_S:
            text = f"`burst` may be at most what the rate carries in {_LONGEST_BURST_S}s"
            raise ValueError(text)
        return self


class PolicerBothWays(Directional[PolicerSpec | None]):
    """The policer of each direction; none by default."""

    forward: PolicerSpec | None = Field(
        default=None, description="from the link's left (sources) to its right (sinks)"
    )
    reverse: PolicerSpec | None = Field(
        default=None, description="from the link's right (sinks) to its left (sources)"
    )


Mtu = Annotated[int, Field(ge=LEAST_MTU_BYTES, le=MOST_MTU_BYTES)]
"""The largest IP packet of a link in bytes."""

D = TypeVar("D")


class Impaired(Strict, Generic[D]):
    """Values of every link: a delay and impairments."""

    delay: D = Field(description="one-way delay, such as 10ms")
    loss: LossBothWays = Field(
        default_factory=no_loss, description="loss model; losses happen after the queue"
    )
    jitter: JitterBothWays | None = Field(
        default=None,
        description="variation of the delay around `delay`, such as 2ms; **reorders packets** "
        "without `keep_order`",
    )
    reordering: ReorderingBothWays | None = Field(
        default=None, description="probability that a packet skips the delay, such as 1%"
    )
    duplication: ChanceBothWays | None = Field(
        default=None, description="probability that a packet is sent twice, such as 0.1%"
    )
    corruption: ChanceBothWays | None = Field(
        default=None,
        description="probability that one bit of a packet is flipped, such as 0.1%; the "
        "receiver's checksum detects it, so TCP sees a loss",
    )
    policer: PolicerBothWays | None = Field(
        default=None, description="before the queue: drops what exceeds a rate, never queues"
    )
    mtu: Mtu = Field(
        default=DEFAULT_MTU_BYTES,
        description="largest IP packet in bytes, 576 to 9216, such as 9000 for jumbo frames. TCP "
        "and probes of a flow use the smallest MTU of its path",
    )

    @model_validator(mode="after")
    def _policers_pass_full_frames(self) -> Self:
        frame_bytes = self.mtu + ETHERNET_BYTES
        for direction in DIRECTIONS:
            policer = getattr(self.policer, direction, None)
            if policer is not None and policer.burst < frame_bytes:
                text = f"`burst` of the policer must be at least {frame_bytes}B: "
                raise ValueError(text + "a full-size frame would never pass")
        return self


def _instead_of_a_rate(
    capacity: CapacityBothWays | None, info: ValidationInfo
) -> CapacityBothWays | None:
    if capacity is not None and info.data.get("rate") is not None:
        raise ValueError("give `rate` or `capacity`, not both")
    return capacity


class QueuedLink(Impaired[D], Generic[D]):
    """A link with a rate or a capacity, and a queue in each direction."""

    rate: RateBothWays | None = Field(default=None, description="bit/s, such as 10mbit")
    capacity: CapacityBothWays | None = Field(
        default=None,
        validate_default=True,
        description="instead of `rate`: a rate that follows a trace",
    )
    queue: QueueBothWays = Field(
        default_factory=one_bdp,
        description="queue in front of the link; drop-tail of 1bdp by default",
    )

    @field_validator("capacity")
    @classmethod
    def _one_of_them(
        cls, capacity: CapacityBothWays | None, info: ValidationInfo
    ) -> CapacityBothWays | None:
        if capacity is None and info.data.get("rate", info) is None:
            raise ValueError("`rate` is missing")
        return _instead_of_a_rate(capacity, info)


class Bottleneck(QueuedLink[LinkDelayBothWays]):
    """A bottleneck: a link with a delay, a rate or a capacity, and a queue in each direction."""


class Plain(Impaired[D], Generic[D]):
    """A link without queueing losses, unless it has a queue."""

    rate: RateBothWays | None = Field(default=None, description="bit/s; unlimited when not given")
    capacity: CapacityBothWays | None = Field(
        default=None, description="instead of `rate`: a rate that follows a trace"
    )
    queue: QueueBothWays | None = Field(
        default=None,
        description="queue in front of the link; by default large enough to lose nothing",
    )

    @field_validator("queue")
    @classmethod
    def _needs_a_rate(
        cls, queue: QueueBothWays | None, info: ValidationInfo
    ) -> QueueBothWays | None:
        rates = [info.data.get(key, queue) for key in ("rate", "capacity")]
        if queue is not None and rates == [None, None]:
            raise ValueError("a queue needs a rate: without one no packet ever waits")
        return queue

    @field_validator("capacity")
    @classmethod
    def _not_both(
        cls, capacity: CapacityBothWays | None, info: ValidationInfo
    ) -> CapacityBothWays | None:
        return _instead_of_a_rate(capacity, info)


class Access(Plain[SpreadBothWays | None]):
    """The link of each host of a group."""

    delay: SpreadBothWays | None = Field(
        default=None,
        description="one-way delay, such as 10ms. Evenly spaced over the hosts of the group: "
        "{from: 5ms, to: 50ms} or {above: 0ms, to: 57.5ms}. Drawn: {from: 5ms, to: 50ms, drawn: "
        "true}. Not given when the group has an `rtt`",
    )


class Links:
    """Collects the links of a topology, and the queues of their channels.

    Offsets of traces are drawn from ``seed``: the first number of Python's
    ``random.Random("<seed>:<delay or loss> offset:<link>:<direction>")``, where both numbers count
    from 0. ``drawn`` tells whether there are such offsets.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.drawn = False
        self.links: list[Link] = []
        self.queues: dict[str, RequestedQueue] = {}
        self.scenario_paths: dict[str, Path] = {}

    def add(
        self,
        name: str,
        a: str,
        b: str,
        spec: Bottleneck | Plain[Any],
        where: Path,
        delay_s: tuple[float | Steps, float | Steps],
    ) -> None:
        """Add the link from ``a`` to ``b``.

        ``where`` is the path to its values in the scenario; ``delay_s`` is (forward, reverse).
        """
        channels: dict[str, Channel] = {}
        for number, (direction, one_way) in enumerate(zip(DIRECTIONS, delay_s, strict=True)):
            rate_bps, trace = _carries(spec, direction)
            loss: LossSpec = getattr(spec.loss, direction)
            self.drawn |= loss.is_drawn
            delay_trace = one_way if isinstance(one_way, Steps) else None
            channels[direction] = Channel(
                delay_s=one_way.first if isinstance(one_way, Steps) else one_way,
                delay_trace=delay_trace,
                delay_changes=delay_trace is not None,
                rate_bps=rate_bps,
                loss=loss.resolved(self._draw("loss", number)),
                is_bottleneck=rate_bps is not None and spec.queue is not None,
                policer=_policer(getattr(spec.policer, direction, None)),
                trace=trace,
                jitter=getattr(spec.jitter, direction, None),
                reordering=getattr(spec.reordering, direction, None),
                duplication=getattr(spec.duplication, direction, 0.0),
                corruption=getattr(spec.corruption, direction, 0.0),
                mtu_bytes=spec.mtu,
            )
            if rate_bps is not None:
                queue = (
                    getattr(spec.queue, direction)
                    if spec.queue is not None
                    else DropTail(limit=ACCESS_LIMIT)
                )
                place = (*where, "queue", direction, "limit")
                self.queues[f"{name}:{direction}"] = RequestedQueue(queue, place)
        self.links.append(Link(name, a, b, channels["forward"], channels["reverse"]))
        self.scenario_paths[name] = where

    def add_bottleneck(self, name: str, a: str, b: str, spec: Bottleneck, where: Path) -> None:
        """Add a link between switches with its own delay."""
        self.add(name, a, b, spec, where, self.delays(spec.delay))

    def delays(self, delay: LinkDelayBothWays) -> tuple[float | Steps, float | Steps]:
        """Return forward and reverse delay of the link that is added next: seconds, or steps."""
        forward, reverse = delay.forward, delay.reverse
        return self._delay(forward, 0), self._delay(reverse, 1)

    def _delay(self, delay: float | DelayTrace, direction: int) -> float | Steps:
        if isinstance(delay, float):
            return delay
        self.drawn |= delay.is_drawn
        return delay.steps(self._draw("delay", direction))

    def _draw(self, what: str, direction: int) -> float:
        text = f"{self._seed}:{what} offset:{len(self.links)}:{direction}"
        return random.Random(text).random()


def _carries(spec: QueuedLink[Any] | Plain[Any], direction: str) -> tuple[int | None, Trace | None]:
    """Return a direction's rate, which is the mean of its trace if it has one, and the trace."""
    if spec.capacity is None:
        return getattr(spec.rate, direction, None), None
    capacity: Capacity = getattr(spec.capacity, direction)
    trace = capacity.read
    return (capacity.rate if trace is None else trace.rate_bps), trace


def _policer(spec: PolicerSpec | None) -> Policer | None:
    return None if spec is None else Policer(spec.rate, spec.burst)
