"""The bytes that connections put on a link, by which a load becomes a rate of connections."""

from __future__ import annotations

from orchestrator.kinds.distributions import Sizes
from orchestrator.kinds.traffic import TcpSegment

CONNECTION_SEGMENTS = 4
"""Segments without data of the end that sends: SYN, ACK of the other's first segment, FIN, ACK of
the other's FIN. A server's first one is the SYN-ACK."""
SYN_OPTIONS_BYTES = 8
"""Options of the SYN that other segments do not have."""

_NEGLIGIBLE = 1e-12


def data_wire_bytes(size: Sizes, segment: TcpSegment) -> float:
    """Return the mean of the link-layer bytes of so much data, with all headers."""
    # The mean number of segments is the sum of the chances that there is an n-th one.
    segments, number = 0.0, 0
    while (chance := size.chance_of(segment.payload_bytes * number + 1)) > _NEGLIGIBLE:
        segments += chance
        number += 1
    # Drawn sizes are rounded down, by half a byte on average. Fixed sizes are not.
    rounded = 0.0 if size.distribution == "fixed" else 0.5
    return size.average() - rounded + segments * segment.headers_bytes


def connection_wire_bytes(segment: TcpSegment) -> float:
    """Return the link-layer bytes of a connection's segments without data, from one end."""
    return CONNECTION_SEGMENTS * segment.headers_bytes + SYN_OPTIONS_BYTES


def sent_wire_bytes(size: Sizes, segment: TcpSegment) -> float:
    """Return the mean of the link-layer bytes of a connection that sends data once."""
    return data_wire_bytes(size, segment) + connection_wire_bytes(segment)
