"""Delays and losses as recorded traces: a value that changes at given times.

The file is CSV. Its first line names two columns and their units, such as ``time_ms,delay_us`` or
``time_s,loss``. Each further line has a time and the value from then on. The first time is 0, and
times grow by 1 ms or more. The last value lasts as long as the one before it.
"""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)

from orchestrator import units
from orchestrator.kinds.fields import (
    MAX_DELAY_S,
    Delay,
    Directional,
    Strict,
    short_delay,
)
from orchestrator.kinds.files.named_files import checked_sha256, named, named_file
from orchestrator.network import Steps
from orchestrator.protocol.units import NS_PER_S

MAX_BYTES = 16_000_000
MAX_STEPS = 100_000
LEAST_STEP_NS = 1_000_000
RANDOM = "random"

Quantity = Literal["delay", "loss"]
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_HARMLESS = re.compile(r"[-+.,eE0-9 ]{1,40}")
"""Form of a line that an error may quote: a scenario may name any file, such as a private key."""
_COLUMNS: dict[Quantity, dict[str, Decimal]] = {
    "delay": {f"delay_{unit}": Decimal(units.TIME_UNITS_NS[unit]) / NS_PER_S
              for unit in ("s", "ms", "us", "ns")},
    "loss": {"loss": Decimal(1), "loss_percent": Decimal("0.01")},
}  # fmt: skip
"""The columns of values, and what one of their units is in seconds or as a probability."""
_TIMES = {f"time_{unit}": units.TIME_UNITS_NS[unit] for unit in ("s", "ms", "us", "ns")}


def _offset(value: object) -> float | str:
    return RANDOM if value == RANDOM else units.parse_time(value)


Offset = Annotated[
    float | str,
    PlainValidator(_offset),
    PlainSerializer(
        lambda offset: offset if isinstance(offset, str) else units.format_time(offset),
        when_used="json",
    ),
    WithJsonSchema({"type": "string", "examples": ["10s", RANDOM]}),
]


class StepTrace(Strict):
    """A value by a recorded trace."""

    quantity: ClassVar[Quantity]

    trace: str = Field(
        description="CSV file, relative to the scenario's folder. Its first line names the columns "
        "and their units: `time_s`, `time_ms` or `time_us`, then `delay_ms` (or s, us, ns), or "
        "`loss` (0 to 1) or `loss_percent`. Each line is a time and the value from then on. The "
        "first time is 0, and times are 1 ms apart or more; 100000 lines at most"
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the trace must have; not checked when not given",
    )
    offset: Offset = Field(
        default=0.0,
        description="where in the trace the run begins, such as 10s; `random` draws whole ms from "
        "the seed, for each link and direction",
    )
    repeat: bool = Field(
        default=True,
        description="whether the trace repeats, its last value for as long as the one before it; "
        "the last value stays otherwise",
    )
    scale: float = Field(default=1.0, gt=0, le=1000, description="factor of all values")

    _read: tuple[tuple[int, float], ...] = PrivateAttr(default=())

    @field_validator("trace")
    @classmethod
    def _place(cls, trace: str, info: ValidationInfo) -> str:
        found = named_file(trace, info, MAX_BYTES)
        _parsed(trace, found.content, cls.quantity)
        return found.place

    @field_validator("sha256")
    @classmethod
    def _of_the_trace(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        return checked_sha256("trace", sha256, info, MAX_BYTES) if "trace" in info.data else sha256

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Any:
        content = named_file(self.trace, info, MAX_BYTES).content
        steps = _parsed(self.trace, content, self.quantity)
        self._read = tuple((time_ns, value * self.scale) for time_ns, value in steps)
        most = {"delay": MAX_DELAY_S, "loss": 1.0}[self.quantity]
        largest = max(value for _time_ns, value in self._read)
        if largest > most:
            raise ValueError(
                f"`scale` makes the largest {self.quantity} {largest:g}: above {most:g}"
            )
        return self

    @property
    def is_drawn(self) -> bool:
        """Whether the run's seed decides where the trace begins."""
        return self.offset == RANDOM

    def steps(self, draw: float) -> Steps:
        """Return the steps; ``draw``, from 0 to below 1, decides a random offset."""
        last_ns = self._read[-1][0]
        before_ns = self._read[-2][0] if len(self._read) > 1 else -NS_PER_S
        period_ns = 2 * last_ns - before_ns
        if isinstance(self.offset, str):
            offset_ns = int(draw * (period_ns // LEAST_STEP_NS)) * LEAST_STEP_NS
        else:
            offset_ns = round(self.offset * NS_PER_S)
        if self.repeat:
            offset_ns %= period_ns
        return Steps(
            self.trace, self.sha256 or "", self._read, period_ns if self.repeat else None, offset_ns
        )


class DelayTrace(StepTrace):
    """A one-way delay by a recorded trace.

    No packet overtakes another when the delay falls.
    """

    quantity: ClassVar[Quantity] = "delay"


def _link_delay(value: Any, _handler: object, info: ValidationInfo) -> float | DelayTrace:
    if isinstance(value, dict | DelayTrace):
        return DelayTrace.model_validate(value, context=info.context)
    return short_delay(units.parse_time(value))


def _delay_text(delay: float | DelayTrace) -> Any:
    if isinstance(delay, float):
        return units.format_time(delay)
    return delay.model_dump(mode="json", by_alias=True, exclude_none=True)


LinkDelay = Annotated[
    Delay | DelayTrace,
    WrapValidator(_link_delay),  # one error, of what was meant
    PlainSerializer(_delay_text, when_used="json"),
]
"""Seconds from 0 to 600, one way, or a trace of them."""


class LinkDelayBothWays(Directional[LinkDelay]):
    """The delay of each direction of a link, one way."""

    @property
    def follows_trace(self) -> bool:
        """Whether the delay of a direction follows a trace."""
        return isinstance(self.forward, DelayTrace) or isinstance(self.reverse, DelayTrace)

    @property
    def constant_s(self) -> tuple[float, float]:
        """Forward and reverse delay in seconds; 0 of a direction that follows a trace."""
        forward, reverse = self.forward, self.reverse
        return (
            forward if isinstance(forward, float) else 0.0,
            reverse if isinstance(reverse, float) else 0.0,
        )


@functools.lru_cache(maxsize=64)
def _parsed(path: str, content: bytes, quantity: Quantity) -> tuple[tuple[int, float], ...]:
    """Return (ns, value from then on) of each line: seconds of a delay, or a probability.

    Raises:
        ValueError: it is no such trace. The message names ``path`` and the line.
    """
    lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n")
    names = [name.strip() for name in lines[0].split(",")]
    columns = _COLUMNS[quantity]
    if len(names) != 2 or names[0] not in _TIMES or names[1] not in columns:
        raise ValueError(
            f"{path}:1: the first line must name the columns: one of {', '.join(_TIMES)}, a comma "
            f"and one of {', '.join(columns)}"
        )
    if not 1 < len(lines) <= MAX_STEPS + 1:
        raise ValueError(f"{named(path)} has {len(lines) - 1} steps; 1 to {MAX_STEPS} are allowed")
    steps: list[tuple[int, float]] = []
    for number, line in enumerate(lines[1:], start=2):
        texts = [text.strip() for text in line.split(",")]
        if len(texts) != 2 or not all(map(_NUMBER.fullmatch, texts)):
            shown = f", not `{line.strip()}`" if _HARMLESS.fullmatch(line.strip()) else ""
            raise ValueError(f"{path}:{number}: must be two numbers, zero or more{shown}")
        time_ns = round(Decimal(texts[0]) * _TIMES[names[0]])
        value = float(Decimal(texts[1]) * columns[names[1]])
        if not steps and time_ns:
            raise ValueError(f"{path}:{number}: the first time must be 0")
        if steps and time_ns - steps[-1][0] < LEAST_STEP_NS:
            raise ValueError(f"{path}:{number}: must be 1 ms or more after the line above")
        if time_ns > units.TIME_MAX_NS:
            raise ValueError(f"{path}:{number}: a time may be 30 days at most")
        if quantity == "delay":
            value = round(value * NS_PER_S) / NS_PER_S
        if value > (MAX_DELAY_S if quantity == "delay" else 1):
            most = f"a delay may be {MAX_DELAY_S}s" if quantity == "delay" else "a loss may be 1"
            raise ValueError(f"{path}:{number}: {most} at most")
        steps.append((time_ns, value))
    return tuple(steps)
