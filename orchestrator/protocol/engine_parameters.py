"""The "parameters" of a flow in the specification, for each traffic engine.

A class ``...Traffic`` has what a kind of traffic decides. The class ``...Parameters`` adds what the
plan decides. The test bed imports this module for type checks only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from orchestrator.protocol.specification import QuantitySpec

if TYPE_CHECKING:
    from typing_extensions import NotRequired  # noqa: UP035 - typing has it from Python 3.11 on


class _PlannedParameters(TypedDict):
    bytes: int | None
    """Number of bytes to send; None is unlimited. Only bulk and UDP engines have a number."""
    window_bytes: NotRequired[int]
    """Largest receive window that the receiver of the data may advertise; unlimited if absent."""
    mss_bytes: NotRequired[int]
    """Maximum segment size of the flow's connections, with TCP options; for "window_bytes"."""
    segment_bytes: NotRequired[int]
    """Payload of the flow's full segments; for "window_bytes"."""


class BulkParameters(_PlannedParameters):
    """Of the engines ``builtin`` and ``iperf3``."""

    multipath: NotRequired[bool]
    """Whether the connection is one of Multipath TCP; only ``builtin`` has such."""


class SubflowParameters(_PlannedParameters):
    """Of the engine ``subflow``."""

    connection_port: int
    """The port at which the connection listens."""
    addresses: list[str]
    """Of source and sink."""


class UdpTraffic(TypedDict):
    """What a kind of UDP traffic decides."""

    packet_bytes: int
    """Size of an IP packet with its headers; of "packets" the largest one."""
    on: QuantitySpec | None
    """Lengths of the periods in which the source sends, in ns; None always sends."""
    off: QuantitySpec | None
    """Lengths of the periods between them, in ns."""
    exponential_gaps: NotRequired[bool]
    """Whether packets of a source that is always on leave at the times of a Poisson process.

    Its mean gap is the packet time at the rate. Packets are evenly spaced if absent.
    """
    ecn_field: NotRequired[int]
    """ECN field of the packets: 1 is ECT(1), 2 ECT(0); 0, Not-ECT, if absent (RFC 3168)."""
    packets: NotRequired[list[list[int]]]
    """[time, size] of each packet in the order of time, in ns since the flow's start and bytes with
    its headers. These are sent then, whatever the rate."""
    rate_bps: NotRequired[int]
    """Mean rate of "packets" on the link layer; the plan sets that of other sources."""


class UdpParameters(_PlannedParameters, UdpTraffic):
    """Of the engine ``udp``; "bytes" counts payload.

    "rate_bps" is always there: on the link layer, while the source sends. Of exponential gaps and
    of "packets" it is the mean.
    """


class OnOffTraffic(TypedDict):
    """What a kind of on-off TCP traffic decides."""

    on: QuantitySpec | None
    """Lengths of the periods in which the source sends, in ns; None where there are intervals."""
    off: QuantitySpec | None
    """Lengths of the periods between them, in ns."""
    intervals: list[list[int]] | None
    """[begin, end] of each period, in ns since the flow's start, instead of "on" and "off"."""
    reconnect: bool
    """Whether each period has a connection of its own, which is then a transfer."""
    period_bytes: int | None
    """Largest number of bytes to send in each period; None is unlimited."""


class OnOffParameters(_PlannedParameters, OnOffTraffic):
    """Of the engine ``onoff``."""

    path_rate_bps: int | None
    """Rate of the narrowest link; None where no link has a rate."""


class ConnectionsTraffic(TypedDict):
    """When the connections of a flow begin."""

    arrivals_per_s: float | None
    """Rate of a Poisson process; None begins a connection when the one before has ended."""
    every_ns: NotRequired[int]
    """Time between the begins of two connections; instead of both if it is there."""
    times_ns: NotRequired[list[int]]
    """When each connection begins, since the flow's start, rising; instead of all others."""
    gap: QuantitySpec | None
    """Time between the end of a connection and the next begin, in ns; None is no time."""
    number: int | None
    """Number of connections; None is unlimited."""


class TransfersTraffic(ConnectionsTraffic):
    """What a kind of transfers decides."""

    sizes: list[QuantitySpec]
    """Sizes of the transfers in bytes, in turn; after the last one the list repeats."""


class TransfersParameters(_PlannedParameters, TransfersTraffic):
    """Of the engine ``transfers``."""


class RoundsSpec(TypedDict):
    """Rounds that the flows of an entry begin together."""

    entry: int
    """Number of the flow entry."""
    number: int | None
    """How many rounds there are; the connection stays open after the last one. None has no end."""
    gap: QuantitySpec | None
    """Time between the end of a round and the begin of the next one, in ns."""
    jitter: QuantitySpec | None
    """Delay of each flow's request, in ns."""


class ExchangesTraffic(ConnectionsTraffic):
    """What a kind of requests and responses decides."""

    request: QuantitySpec
    """Size of a request in bytes."""
    response: QuantitySpec
    """Size of a response in bytes."""
    objects: QuantitySpec
    """Number of objects of a page; the client requests each when it has received the one before."""
    pages: QuantitySpec | None
    """Number of pages of a connection; None is unlimited."""
    think: QuantitySpec | None
    """Time between two pages in ns; None is no time."""
    rounds: NotRequired[RoundsSpec]
    """The flows of an entry begin each page together; independently if absent."""


class ExchangesParameters(_PlannedParameters, ExchangesTraffic):
    """Of the engine ``exchanges``."""


class PingTraffic(TypedDict):
    """What ping decides."""

    interval_ns: int
    packet_bytes: int
    """Size of an IP packet with its headers."""
    number: int | None
    """Number of requests; None is unlimited."""
    rate_bps: int
    """Rate of the requests on the link layer, for estimates."""


class PingParameters(_PlannedParameters, PingTraffic):
    """Of the engine ``ping``."""


class ReadySpec(TypedDict):
    """The socket by which a server is known to be ready."""

    port: int
    transport: Literal["tcp", "udp"]


class ExtractionSpec(TypedDict):
    """A number that is taken from what a client prints."""

    pattern: str
    """Regular expression with one group around the number. It is tried on each line."""
    unit: str
    """In which the number is printed; of orchestrator.recording.extracted.UNITS."""
    stream: Literal["stdout", "stderr"]
    take: Literal["first", "last", "mean", "sum", "min", "max", "count"]


class ProgramTraffic(TypedDict):
    """What a kind of traffic by users' programs decides."""

    server: list[str] | None
    """Program and arguments at the end that listens; None where there is none."""
    client: list[str]
    """Program and arguments at the other end."""
    files: str | None
    """Folder that both can read; of the bed's input folder in a test bed."""
    env: dict[str, str]
    ready: ReadySpec | None
    """The client starts when the server has this socket; None starts it with the server."""
    timeout_ns: int | None
    """Time since the flow's start at which both are ended."""
    extract: NotRequired[dict[str, ExtractionSpec]]
    """Numbers to take from the client's output, by their names."""
    keep: NotRequired[dict[str, list[str]]]
    """Patterns of files to keep of what a program leaves in its folder, by the program's role."""


class ProgramParameters(_PlannedParameters, ProgramTraffic):
    """Of the engine ``program``."""
