"""What a first run keeps of packets and connections, as ``zoom`` does of a stored one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from orchestrator.kinds.fields import Strict
from orchestrator.protocol.reports.trace_records import (
    CLOSEST,
    DEFAULT_LIMIT_BYTES,
    LEAST_LIMIT_BYTES,
    MOST_LIMIT_BYTES,
    MOST_SNAP_BYTES,
    SNAP_BYTES,
)
from orchestrator.units import (
    NUMBER_PATTERN,
    SIZE_UNITS,
    TIME_UNITS_NS,
    format_size,
    parse_size,
    shown,
)
from orchestrator.windows import parse_window_ns, window_text

_MIB = 2**20
_TIME = f"{NUMBER_PATTERN}({'|'.join(TIME_UNITS_NS)})"

Kind = Literal["packets", "acks", "queue", "tcp", "drops"]
"""As WANTED of protocol/reports/trace_records.py has them; a test compares both."""


def _window_ns(value: object) -> tuple[int, int]:
    if isinstance(value, tuple):  # as the model has it
        from_ns, to_ns = value
        return int(from_ns), int(to_ns)
    return parse_window_ns(value)


def _text(window_ns: tuple[int, int]) -> str:
    return window_text(*window_ns)


TraceWindow = Annotated[
    tuple[int, int],
    PlainValidator(_window_ns),
    PlainSerializer(_text, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^{_TIME}\.\.{_TIME}$", "examples": ["12s..13s"]}
    ),
]
"""Begin and end in nanoseconds since the start of traffic."""


def _limit(value: object) -> int:
    limit_bytes = parse_size(value)
    if not LEAST_LIMIT_BYTES <= limit_bytes <= MOST_LIMIT_BYTES:
        least, most = _format_limit(LEAST_LIMIT_BYTES), _format_limit(MOST_LIMIT_BYTES)
        raise ValueError(f"must be {least} to {most}, not {shown(value)}")
    return limit_bytes


def _format_limit(limit_bytes: int) -> str:
    whole, rest = divmod(limit_bytes, _MIB)
    return format_size(limit_bytes) if rest else f"{whole}MiB"


def parse_snap(value: object) -> int:
    """Return bytes of a size such as ``116B``, or of a number of bytes, of at most a whole frame.

    Raises:
        ValueError: it is none.
    """
    number = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    is_plain = isinstance(number, str) and number.isascii() and number.isdecimal()
    snap_bytes = parse_size(f"{number}B" if is_plain else value)
    if snap_bytes > MOST_SNAP_BYTES:
        raise ValueError(f"must be at most {MOST_SNAP_BYTES}B, not {shown(value)}")
    return snap_bytes


TraceLimit = Annotated[
    int,
    PlainValidator(_limit),
    PlainSerializer(_format_limit, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{NUMBER_PATTERN}({'|'.join(SIZE_UNITS)})$",
            "examples": ["256MiB"],
        }
    ),
]
"""Bytes of the records of a trace."""

Snap = Annotated[
    int,
    PlainValidator(parse_snap),
    PlainSerializer(format_size, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{NUMBER_PATTERN}({'|'.join(SIZE_UNITS)})?$"},
                {"type": "integer", "minimum": 1, "maximum": MOST_SNAP_BYTES},
            ],
            "examples": ["116B", 116],
        }
    ),
]
"""Bytes that are kept of a frame."""


class Capture(Strict):
    """What is kept of packets and connections while the run is made; see docs/traces.md.

    It changes nothing of the run. So runs with and without it belong to one experiment.
    """

    window: TraceWindow | None = Field(
        default=None, description="FROM..TO since the start of traffic; the whole run by default"
    )
    trace: list[Kind] = Field(
        default_factory=lambda: list(CLOSEST),  # type: ignore[arg-type]
        min_length=1,
        description="what is traced; `packets` alone with the back end local",
    )
    flows: list[str] = Field(
        default_factory=list, description="only these flows; all when there are none"
    )
    links: list[str] = Field(
        default_factory=list,
        description="only these links, or one direction of a link, such as `bottleneck:forward`; "
        "all when there are none",
    )
    snap: Snap = Field(
        default=SNAP_BYTES,
        description=f"kept of each frame; {MOST_SNAP_BYTES}B at most. A number is bytes",
    )
    limit: TraceLimit = Field(
        default=DEFAULT_LIMIT_BYTES,
        description="size of the trace in memory, before flows and links are selected; 1MiB to "
        "900MiB. The run fails where it is not enough",
    )
