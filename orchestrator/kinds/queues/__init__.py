"""Kinds of queues, one file for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from orchestrator.kinds.fields import Chance, Directional, QueueLimit, Size, Strict
from orchestrator.kinds.registry import Kinds
from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.protocol.links.qdisc import Qdisc, Statistic
from orchestrator.protocol.units import nanoseconds
from orchestrator.units import LIMIT_MAX, Limit, format_time

TCA_STATS2, TCA_STATS_QUEUE, TCA_STATS_APP = 7, 3, 4


class QueueFault(ValueError):
    """A queue is not possible with these values; ``key`` is the field that is wrong."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class SizedLimit:
    """A queue's limit in packets or bytes, for a known link; exactly one of the two is set.

    ``rate_bps`` is the link's rate on the link layer, ``frame_bytes`` its full frame. ``measure``
    converts another length that is written like a limit, for the same link. It raises ValueError
    when that is not possible.
    """

    rate_bps: int
    limit_packets: int | None = None
    limit_bytes: int | None = None
    frame_bytes: int = FRAME_BYTES
    measure: Callable[[Limit], SizedLimit] | None = field(default=None, compare=False, repr=False)

    @property
    def packets(self) -> int:
        """The limit in full-size frames, rounded down."""
        if self.limit_packets is not None:
            return self.limit_packets
        assert self.limit_bytes is not None, "one of the limits is set"
        return self.limit_bytes // self.frame_bytes

    @property
    def size_bytes(self) -> int:
        """The limit in link-layer bytes, of full-size frames when it counts packets."""
        if self.limit_bytes is not None:
            return self.limit_bytes
        return self.packets * self.frame_bytes

    def length_bytes(self, key: str, limit: Limit) -> int:
        """Return the length in the field ``key`` in bytes.

        Raises:
            QueueFault: the length is not possible.
        """
        assert self.measure is not None, "the plan sets it"
        try:
            return self.measure(limit).size_bytes
        except ValueError as error:
            raise QueueFault(key, str(error).replace("a queue of", f"{key} of", 1)) from None


class QueueSpec(Strict, ABC):
    """A queue in front of a link, in one direction.

    ``drops_queued`` tells whether the kind may drop packets that it has already queued.
    """

    drops_queued: ClassVar[bool] = False

    kind: str
    limit: QueueLimit = Field(
        description="largest length: packets of any size (100p), link-layer bytes (150kB), or "
        "time at the link's rate (20ms). 1bdp is the bandwidth-delay product of the largest sum of "
        "delays there and back that crosses the link, 1bdp(min) that of the smallest"
    )

    @abstractmethod
    def qdisc(self, sized: SizedLimit) -> Qdisc:
        """Return the kernel's settings.

        Raises:
            QueueFault: they are not possible.
        """


def app_statistic(name: str, unit: str, *offsets: int, signed: bool = False) -> Statistic:
    """Return the sum of the words at ``offsets`` of the kind's own statistics (``*_xstats``)."""
    path = (TCA_STATS2, TCA_STATS_APP)
    return Statistic(name, unit, tuple((path, offset) for offset in offsets), signed)


def microseconds(key: str, time_s: float) -> int:
    """Return a field's time in us.

    Raises:
        QueueFault: it is not a whole number of microseconds, or too long.
    """
    time_ns = nanoseconds(time_s)
    if time_ns % 1000 or time_ns // 1000 > LIMIT_MAX:
        text = f"{key} of {format_time(time_s)}: the kernel takes whole microseconds below 2^32"
        raise QueueFault(key, text)
    return time_ns // 1000


def _nonzero(chance: float) -> float:
    if not chance:
        raise ValueError("must be above zero")
    return chance


def _quantum(size_bytes: int) -> int:
    if not 256 <= size_bytes <= 2**20:
        raise ValueError("the kernel takes 256B to 1MiB")
    return size_bytes


SomeChance = Annotated[Chance, AfterValidator(_nonzero)]
"""A probability above 0 and below 1."""

Quantum = Annotated[Size, AfterValidator(_quantum)]
"""Bytes that a flow may send in its turn."""

QUEUES: Kinds[QueueSpec] = Kinds(
    "queue",
    __name__,
    QueueSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="droptail",
    example="{kind: droptail, limit: 100p}",
)
AnyQueue = Annotated[QueueSpec, QUEUES]


class QueueBothWays(Directional[AnyQueue]):
    """The queue of each direction."""
