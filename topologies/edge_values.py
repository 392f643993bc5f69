"""Takes the rates and delays of links from a graph file's edges and nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, TypeVar

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator import units
from orchestrator.kinds.fields import MAX_DELAY_S, Delay, Rate, Strict
from orchestrator.kinds.files.graph_file import Attributes, Value
from orchestrator.protocol.units import NS_PER_S
from orchestrator.units import shown

T = TypeVar("T")

EARTH_RADIUS_KM = 6371.0088
"""The mean radius R1 of the GRS 80 ellipsoid: H. Moritz, "Geodetic Reference System 1980"."""
FIBRE_KM_PER_S = 299_792.458 * 2 / 3
"""Speed of light in fibre: 2/3 of that in vacuum, for a refractive index of 1.5."""
_MOST_EXPONENT = 30


class EdgeValue(Strict):
    """One value for all edges, or that of an attribute of each edge."""

    attribute: str | None = Field(default=None, description="attribute of the edges that has it")

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, data: Any) -> Any:
        return data if isinstance(data, dict | EdgeValue) else {"default": data}

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        values = {key: value for key, value in handler(self).items() if value is not None}
        return values["default"] if values.keys() == {"default"} else values

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        each = handler(schema)
        default = handler.resolve_ref_schema(each)["properties"]["default"]
        (one,) = (option for option in default["anyOf"] if option != {"type": "null"})
        return {"anyOf": [one, each]}


class EdgeRate(EdgeValue):
    """The rate of each edge.

    A number needs the ``unit``, and a text may have one of its own. The rate is rounded to 8 bit/s.
    """

    unit: Literal["bit", "kbit", "mbit", "gbit"] | None = Field(
        default=None, description="unit of the attribute's numbers"
    )
    default: Rate | None = Field(
        default=None, description="rate of edges without the attribute, such as 10mbit"
    )

    @model_validator(mode="after")
    def _complete(self) -> EdgeRate:
        _require_source(self.attribute is not None, self.default, self.unit)
        return self

    def of(self, edge: Attributes) -> int:
        """Return the rate of an edge in bit/s.

        Raises:
            ValueError: it has none, or one that is not valid.
        """
        value = None if self.attribute is None else edge.get(self.attribute)
        if value is None:
            return _present(self.default, self.attribute)
        number = _number(value, self.unit, units.parse_rate)
        if isinstance(number, int):
            return number
        assert self.unit is not None, "a number has a unit"
        return units.parse_rate(f"{round(number * units.RATE_UNITS[self.unit] / 8) * 8}bit")


class EdgeDelay(EdgeValue):
    """The one-way delay of each edge.

    With ``latitude`` and ``longitude`` it is the great-circle distance of the edge's ends at 2/3 of
    the speed of light, rounded to 1 us. Else a number needs the ``unit``, and a text may have one
    of its own; the delay is rounded to 1 ns.
    """

    unit: Literal["ns", "us", "ms", "s"] | None = Field(
        default=None, description="unit of the attribute's numbers"
    )
    latitude: str | None = Field(
        default=None,
        description="attribute of the nodes with the latitude in degrees, such as Latitude",
    )
    longitude: str | None = Field(
        default=None, description="attribute of the nodes with the longitude in degrees"
    )
    default: Delay | None = Field(default=None, description="delay of the other edges, such as 5ms")

    @model_validator(mode="after")
    def _complete(self) -> EdgeDelay:
        if (self.latitude is None) != (self.longitude is None):
            raise ValueError("give `latitude` and `longitude`, or neither")
        if self.latitude is not None and self.attribute is not None:
            raise ValueError("give `attribute`, or `latitude` and `longitude`, not both")
        given = self.attribute is not None or self.latitude is not None
        _require_source(given, self.default, self.unit if self.attribute is None else None)
        return self

    def of(self, edge: Attributes, a: Attributes, b: Attributes) -> float:
        """Return the delay of an edge between nodes ``a`` and ``b``, in seconds.

        Raises:
            ValueError: it has none, or one that is not valid.
        """
        if self.latitude is not None and self.longitude is not None:
            ends = [_place(node, self.latitude, self.longitude) for node in (a, b)]
            if None not in ends:
                km = great_circle_km(*[end for end in ends if end is not None])
                return round(km / FIBRE_KM_PER_S * 1e6) / 1e6
            return _present(self.default, self.latitude, "an end of it")
        value = None if self.attribute is None else edge.get(self.attribute)
        if value is None:
            return _present(self.default, self.attribute)
        number = _number(value, self.unit, units.parse_time_ns)
        if isinstance(number, Decimal):
            assert self.unit is not None, "a number has a unit"
            if number < 0:
                raise ValueError(f"{shown(value)}: a delay must not be negative")
            delay_ns = round(number * units.TIME_UNITS_NS[self.unit])
        else:
            delay_ns = number
        if delay_ns > MAX_DELAY_S * NS_PER_S:
            raise ValueError(f"{shown(value)}: a delay may be {MAX_DELAY_S}s at most")
        return delay_ns / NS_PER_S


def great_circle_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the distance on a sphere of two (latitude, longitude) in degrees, by haversines."""
    (lat_a, long_a), (lat_b, long_b) = ((math.radians(x) for x in place) for place in (a, b))
    half = (
        math.sin((lat_b - lat_a) / 2) ** 2
        + math.cos(lat_a) * math.cos(lat_b) * math.sin((long_b - long_a) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


def _require_source(given: bool, default: object, unit: object) -> None:
    if not given and default is None:
        raise ValueError("give a value for all edges, or `attribute`")
    if not given and unit is not None:
        raise ValueError("`unit` is that of an `attribute`, which is not given")


def _present(default: T | None, attribute: str | None, who: str = "it") -> T:
    if default is None:
        raise ValueError(f"{who} has no attribute {shown(attribute)}: give a `default`")
    return default


def _number(value: Value, unit: str | None, parse: Any) -> Decimal | int:
    """Return a number in ``unit``, or what ``parse`` makes of a text with a unit of its own.

    Raises:
        ValueError: it is neither.
    """
    text = str(value).strip()
    try:
        if isinstance(value, bool):
            raise ArithmeticError
        number = Decimal(text)
    except ArithmeticError:
        return int(parse(value))
    if unit is None:
        raise ValueError(f"{shown(value)} has no unit: say it by `unit`")
    if not number.is_finite() or abs(number.adjusted()) > _MOST_EXPONENT:
        raise ValueError(f"{shown(value)} is out of range")
    return number


def _place(node: Mapping[str, Value], latitude: str, longitude: str) -> tuple[float, float] | None:
    """Return a node's latitude and longitude; None when it lacks one.

    Raises:
        ValueError: one is no number of degrees.
    """
    found = []
    for key, most in ((latitude, 90.0), (longitude, 180.0)):
        value = node.get(key)
        if value is None:
            return None
        try:
            degrees = math.nan if isinstance(value, bool) else float(value)
        except ValueError:
            degrees = math.nan
        if not abs(degrees) <= most:
            raise ValueError(f"{key} {shown(value)} is not from -{most:g} to {most:g} degrees")
        found.append(degrees)
    return found[0], found[1]
