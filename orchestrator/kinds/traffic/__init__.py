"""Kinds of traffic sources, one file for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from orchestrator.kinds.fields import Strict
from orchestrator.kinds.registry import Kinds
from orchestrator.units import Limit, LinkRate

if TYPE_CHECKING:
    from orchestrator.kinds.congestion_control import Congestion

Transport = Literal["tcp", "udp", "icmp"]
Connections = Literal["one", "sequential", "many"]
"""Connections of a flow: a single one, one after another, or any number at a time."""


@dataclass(frozen=True)
class TcpSegment:
    """A full TCP segment: its payload, and its headers on the link layer."""

    payload_bytes: int
    headers_bytes: int

    @property
    def payload_share(self) -> float:
        """The payload's share of the bytes on the link layer."""
        return self.payload_bytes / (self.payload_bytes + self.headers_bytes)


FULL_SEGMENT = TcpSegment(1448, 66)

LEAST_JUMBO_SEGMENTS = 5
"""Least exact window in segments, if these are larger than an MTU of 1500 allows.

The memory that the kernel counts for so large a segment is not proportional to its size. So a
receive buffer that would keep the first segments from enlarging the window cannot be computed.
"""

LEAST_WINDOW_BYTES = 1152
"""The kernel limits no receive window to less: SOCK_MIN_RCVBUF / 2 in tcp_set_window_clamp() of
net/ipv4/tcp.c."""
"""With timestamps, Ethernet headers as qdiscs count them, and the default TCP options."""


@dataclass(frozen=True)
class Load:
    """The offered load of a source on the link layer.

    ``wire_bytes`` returns the mean size of a connection on the link layer, with all headers, in the
    direction of the flow's data. ``link`` names the link of whose rate ``rate`` may be a share;
    None is the narrowest one.
    """

    rate: LinkRate
    wire_bytes: Callable[[TcpSegment], float]
    link: str | None = None


@dataclass(frozen=True)
class Demand:
    """What a flow's end points must do.

    Attributes:
        engine: name of the test bed's engine; see protocol/engines.py.
        size_bytes: number of bytes to send; None sends until the flow is stopped.
        transport: the transport protocol.
        parameters: those that the kind decides; see protocol/engine_parameters.py.
        rate: the plan sets the parameter "rate_bps" from it.
        load: the plan sets the parameter "arrivals_per_s" from it.
        window: the plan sets the parameter "window_bytes" from it.
        path_rate: whether the plan sets the parameter "path_rate_bps", the narrowest link's rate.
        connections: number of connections at a time.
        server: the end that listens: the source if the sink requests the data.
        round_bytes: the plan sets the size of responses from it: so many bytes come from all flows
            of the entry together, in equal parts.
    """

    engine: str
    size_bytes: int | None = None
    transport: Transport = "tcp"
    parameters: Mapping[str, object] = field(default_factory=dict)
    rate: LinkRate | None = None
    load: Load | None = None
    window: Limit | None = None
    path_rate: bool = False
    connections: Connections = "one"
    server: Literal["sink", "source"] = "sink"
    round_bytes: int | None = None


@dataclass(frozen=True)
class NamedHost:
    """A host that traffic names in a file, at a place such as ``flows.csv:3:5``."""

    name: str
    place: str


@dataclass(frozen=True)
class TrafficPart:
    """One of the flows of a traffic source.

    Attributes:
        demand: what its end points must do.
        name: appended to the name of the flow entry.
        congestion: its congestion control; None is that of the flow entry.
        place: path to the congestion control in the flow entry.
        offset_s: time from the start of the source to the start of this flow.
        hosts: the hosts that send and receive; None of each pair of the group.
        group: the group between whose hosts it runs; None is that of the flow entry.
    """

    demand: Demand
    name: str = ""
    congestion: Congestion | None = None
    place: tuple[str | int, ...] = ("congestion",)
    offset_s: float = 0.0
    hosts: tuple[NamedHost, NamedHost] | None = None
    group: str | None = None


class TrafficSpec(Strict, ABC):
    """What a flow sends."""

    kind: str
    names_congestion: ClassVar[bool] = False
    """Whether the kind itself names the congestion controls of its flows."""
    names_hosts: ClassVar[bool] = False
    """Whether the kind itself names the hosts of its flows, which have no group then."""

    @abstractmethod
    def demand(self) -> Demand:
        """Return what the end points must do."""

    def parts(self) -> list[TrafficPart]:
        """Return the flows of the source; by default one."""
        return [TrafficPart(self.demand())]


TRAFFIC: Kinds[TrafficSpec] = Kinds(
    "traffic",
    __name__,
    TrafficSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="bulk",
    example="{kind: bulk}",
)
AnyTraffic = Annotated[TrafficSpec, TRAFFIC]
