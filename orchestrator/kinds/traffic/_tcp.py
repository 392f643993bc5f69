"""The fields that all sources of TCP share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from orchestrator.kinds.fields import Strict
from orchestrator.kinds.traffic import LEAST_WINDOW_BYTES
from orchestrator.units import (
    NUMBER_PATTERN,
    SIZE_UNITS,
    Limit,
    UnitError,
    parse_limit,
    shown,
)

MOST_WINDOW_BYTES = 2**28
"""A larger window does not fit a buffer's size."""

_SEGMENT_BYTES = 1460


def _window(value: object) -> Limit:
    if isinstance(value, Limit):
        return value
    limit = parse_limit(value, "window", ("p", *SIZE_UNITS))
    size_bytes = limit.size_bytes or (limit.packets or 0) * _SEGMENT_BYTES
    if not LEAST_WINDOW_BYTES <= size_bytes <= MOST_WINDOW_BYTES:
        raise UnitError(
            f"{shown(value)}: a window may have 1 segment (1p) or {LEAST_WINDOW_BYTES}B to 256MiB; "
            "Linux limits no window to less"
        )
    return limit


Window = Annotated[
    Limit,
    PlainValidator(_window),
    PlainSerializer(str, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{NUMBER_PATTERN}({'|'.join(['p', *SIZE_UNITS])})$",
            "examples": ["64p", "64kB"],
        }
    ),
]


class Windowed(Strict):
    """A receiver whose window can limit the sender."""

    window: Window | None = Field(
        default=None,
        description="the largest window that the receiver of the data advertises, such as 64p "
        "(full segments) or 64kB, 1p or 1152B to 256MiB; unlimited when not given. Below 64 KiB "
        "Linux rounds it down to full segments. For a window of less than two, the sender splits "
        "them",
    )
