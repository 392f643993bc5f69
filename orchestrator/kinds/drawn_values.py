"""Values of events that are drawn anew each time the event happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, ValidationInfo, WrapValidator, model_validator

from orchestrator import units
from orchestrator.kinds.fields import Delay, Rate, Strict, short_delay

_DELAY_STEP_S = 1e-6
_RATE_STEP_BPS = 1000


class DrawnRate(Strict):
    """A rate that is drawn from a range, in whole kbit/s."""

    uniform: list[Rate] = Field(
        description="the least and the largest rate, all between them equally probable",
    )

    @model_validator(mode="after")
    def _in_order(self) -> DrawnRate:
        _require_range(self.uniform)
        return self

    def drawn(self, number: float) -> int:
        """Return the rate in bit/s for a number from 0 to below 1."""
        least, most = self.uniform
        return least + int(number * ((most - least) // _RATE_STEP_BPS + 1)) * _RATE_STEP_BPS


class DrawnDelay(Strict):
    """A one-way delay that is drawn from a range, in whole microseconds."""

    uniform: list[Delay] = Field(
        description="the least and the largest delay, all between them equally probable",
    )

    @model_validator(mode="after")
    def _in_order(self) -> DrawnDelay:
        _require_range(self.uniform)
        return self

    def drawn(self, number: float) -> float:
        """Return the delay in seconds for a number from 0 to below 1."""
        least, most = self.uniform
        steps = int((most - least) / _DELAY_STEP_S + 1e-6) + 1
        return round(least + int(number * steps) * _DELAY_STEP_S, 9)


def _require_range(values: Sequence[float]) -> None:
    if len(values) != 2:
        raise ValueError("`uniform` must have two values, the least one and the largest one")
    if values[0] > values[1]:
        raise ValueError("`uniform` must have the least value first")


def _rate(value: Any, _handler: object, info: ValidationInfo) -> int | DrawnRate:
    if isinstance(value, dict | DrawnRate):
        return DrawnRate.model_validate(value, context=info.context)
    return units.parse_rate(value)


def _delay(value: Any, _handler: object, info: ValidationInfo) -> float | DrawnDelay:
    if isinstance(value, dict | DrawnDelay):
        return DrawnDelay.model_validate(value, context=info.context)
    return short_delay(units.parse_time(value))


def _text(value: Any) -> Any:
    if isinstance(value, Strict):
        return value.model_dump(mode="json")
    return units.format_rate(value) if isinstance(value, int) else units.format_time(value)


EventRate = Annotated[
    Rate | DrawnRate, WrapValidator(_rate), PlainSerializer(_text, when_used="json")
]
"""Bits per second, or a range to draw from."""

EventDelay = Annotated[
    Delay | DrawnDelay, WrapValidator(_delay), PlainSerializer(_text, when_used="json")
]
"""Seconds from 0 to 600, one way, or a range to draw from."""
