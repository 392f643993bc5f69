"""Traffic sources, each in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from orchestrator.kinds.fields import Strict
from orchestrator.kinds.registry import Kinds
from orchestrator.units import Limit, LinkRate

if TYPE_CHECKING:
    from orchestrator.kinds.congestion_control import Congestion

Transport = Literal["tcp", "udp"]
Connections = Literal["one", "sequential", "many"]
"""Connections of a flow: one, one after another, or any number at a time."""


@dataclass(frozen=True)
class Segment:
    """A full TCP segment: its payload, and its headers on the link layer."""

    payload_bytes: int
    headers_bytes: int

    @property
    def payload_share(self) -> float:
        """The payload's share of the bytes on the link layer."""
        return self.payload_bytes / (self.payload_bytes + self.headers_bytes)


FULL_SEGMENT = Segment(1448, 66)
"""With timestamps, Ethernet as qdiscs count it, and no options of the flow."""


@dataclass(frozen=True)
class Load:
    """The offered load of a source on the link layer, from connections of a mean size.

    ``wire_bytes`` are of the direction of the flow's data, with all headers.
    """

    rate: LinkRate
    wire_bytes: Callable[[Segment], float]


@dataclass(frozen=True)
class Demand:
    """What a flow's end points must do.

    ``engine`` names a class of the test bed (see testbed/traffic), ``parameters`` are its own,
    JSON-ready; ``size_bytes`` None means until it is stopped. ``server`` is the end that listens,
    the source when the sink asks for its data. What needs the path becomes a parameter in the plan:
    a ``rate`` "rate_bps", a ``load`` "arrivals_per_s", a ``window`` "window_bytes", and
    ``path_rate`` requests "path_rate_bps", the narrowest link's; None when no link has a rate.
    """

    engine: str
    size_bytes: int | None = None
    transport: Transport = "tcp"
    parameters: dict[str, Any] = field(default_factory=dict)
    rate: LinkRate | None = None
    load: Load | None = None
    window: Limit | None = None
    path_rate: bool = False
    connections: Connections = "one"
    server: Literal["sink", "source"] = "sink"


@dataclass(frozen=True)
class Part:
    """One of the flows of a traffic source; it starts ``offset_s`` after the source.

    ``name`` is appended to the flow entry's; ``congestion`` None means the entry's; ``place`` is
    its path in the entry.
    """

    demand: Demand
    name: str = ""
    congestion: Congestion | None = None
    place: tuple[str | int, ...] = ("congestion",)
    offset_s: float = 0.0


class TrafficSpec(Strict, ABC):
    """What a flow sends."""

    kind: str
    names_congestion: ClassVar[bool] = False
    """Whether the kind itself names the congestion controls of its flows."""

    @abstractmethod
    def demand(self) -> Demand:
        """Return what the end points must do."""

    def parts(self) -> list[Part]:
        """Return the flows of the source; by default one."""
        return [Part(self.demand())]


TRAFFIC: Kinds[TrafficSpec] = Kinds(
    "traffic",
    __name__,
    TrafficSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="bulk",
)
AnyTraffic = Annotated[TrafficSpec, TRAFFIC]
