"""A load on a link, and the bytes that connections put on it, by which it becomes their rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
)

from orchestrator import units
from orchestrator.kinds.distributions import Sizes
from orchestrator.kinds.fields import LinkRate, Strict
from orchestrator.kinds.traffic import Load, TcpSegment

CONNECTION_SEGMENTS = 4
"""Segments without data of the end that sends: SYN, ACK of the other's first segment, FIN, ACK of
the other's FIN. A server's first one is the SYN-ACK."""
SYN_OPTIONS_BYTES = 8
"""Options of the SYN that other segments do not have."""

_NEGLIGIBLE = 1e-12


def _share(value: object) -> units.LinkRate:
    rate = value if isinstance(value, units.LinkRate) else units.parse_link_rate(value)
    if rate.percent is None:
        raise units.UnitError(
            f"{units.shown(value)}: a share of the link's rate is wanted, such as `60%`; a rate is "
            "the same on every link"
        )
    return rate


class LoadOfLink(Strict):
    """A load as a share of the rate of a link that is named."""

    share: Annotated[
        units.LinkRate,
        PlainValidator(_share),
        PlainSerializer(str, when_used="json"),
        WithJsonSchema(
            {"type": "string", "pattern": f"^{units.NUMBER_PATTERN}%$", "examples": ["60%"]}
        ),
    ] = Field(description="share of its rate at the beginning of the run, such as 60%")
    link: str = Field(description="name of a link on the path of all flows of the entry")


def _given(value: Any, _handler: object, info: ValidationInfo) -> units.LinkRate | LoadOfLink:
    if isinstance(value, dict | LoadOfLink):
        return LoadOfLink.model_validate(value, context=info.context)
    return value if isinstance(value, units.LinkRate) else units.parse_link_rate(value)


def _text(given: units.LinkRate | LoadOfLink) -> Any:
    if isinstance(given, LoadOfLink):
        return given.model_dump(mode="json", by_alias=True)
    return str(given)


GivenLoad = Annotated[
    LinkRate | LoadOfLink,
    WrapValidator(_given),  # one error, of what was meant
    PlainSerializer(_text, when_used="json"),
]
"""A load: a rate, a share of the narrowest link's rate, or a share of a named link's."""


def load_of(given: GivenLoad, wire_bytes: Callable[[TcpSegment], float]) -> Load:
    """Return the load of a source whose connections have so many bytes on the link layer."""
    if isinstance(given, LoadOfLink):
        return Load(given.share, wire_bytes, given.link)
    return Load(given, wire_bytes)


def data_wire_bytes(size: Sizes, segment: TcpSegment) -> float:
    """Return the mean of the link-layer bytes of so much data, with all headers."""
    # The mean number of segments is the sum of the chances that there is an n-th one.
    segments, number = 0.0, 0
    while (chance := size.chance_of(segment.payload_bytes * number + 1)) > _NEGLIGIBLE:
        segments += chance
        number += 1
    return size.average() - size.lost_by_rounding() + segments * segment.headers_bytes


def connection_wire_bytes(segment: TcpSegment) -> float:
    """Return the link-layer bytes of a connection's segments without data, from one end."""
    return CONNECTION_SEGMENTS * segment.headers_bytes + SYN_OPTIONS_BYTES


def sent_wire_bytes(size: Sizes, segment: TcpSegment) -> float:
    """Return the mean of the link-layer bytes of a connection that sends data once."""
    return data_wire_bytes(size, segment) + connection_wire_bytes(segment)
