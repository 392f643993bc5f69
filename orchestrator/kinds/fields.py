"""Building blocks of the scenario's model: a strict base model, and types with units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, ValidationError

from orchestrator import units
from orchestrator.kinds.congestion import Modules

T = TypeVar("T")

MAX_DELAY_S = 600

MAX_NAME = 40
"""The most characters of a name."""

MAX_FLOWS = 10_000
"""The most flows of a scenario."""

MAX_PAIRS = 1000
"""The most pairs of hosts of a topology: tests/guest/test_many_hosts.py runs so many."""

Path: TypeAlias = tuple[str | int, ...]
"""The path to a value in a scenario: keys of mappings and indices of lists."""


def located(problems: Iterable[tuple[Path, str]]) -> ValidationError:
    """Return the error that a validator of a mapping raises for (path inside it, message) each."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError("located", "{text}", {"text": text}), loc=path, input=None
        )
        for path, text in problems
    ]
    return ValidationError.from_exception_data("located", details)


@dataclass
class ValidationContext:
    """The context of a validation.

    ``models`` is filled by the validation: the model of each mapping, by the mapping's id. The
    message for an unknown key takes the valid keys from it.
    """

    modules: Modules
    models: dict[int, type[Strict]] = field(default_factory=dict)


class Strict(BaseModel):
    """A mapping with known keys only; every field has a description, which names its unit.

    It is noted in the validation's context, when there is one (see ``ValidationContext``).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _note(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict | BaseModel):
            text = f"must be a mapping (keys: {', '.join(cls.keys())}), not {units.shown(data)}"
            text += "; for several values use `matrix`" if isinstance(data, list) else ""
            raise PydanticCustomError("not_a_mapping", "{text}", {"text": text})
        if isinstance(info.context, ValidationContext) and isinstance(data, dict):
            info.context.models[id(data)] = cls
        return data

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys as a scenario writes them."""
        return [spec.alias or name for name, spec in cls.model_fields.items()]


def _above_zero(time_s: float) -> float:
    if time_s <= 0:
        raise ValueError("must be above zero")
    return time_s


def short_delay(delay_s: float) -> float:
    """Return the delay of a link; ValueError when it is too long."""
    if delay_s > MAX_DELAY_S:
        raise ValueError(f"a delay may be {MAX_DELAY_S}s at most")
    return delay_s


def _period(period_s: float) -> float:
    if period_s < 0.001:
        raise ValueError("a sampling period must be at least 1ms")
    return period_s


def _slug(text: str) -> str:
    if len(text) > MAX_NAME:
        raise ValueError(f"a name may have {MAX_NAME} characters at most")
    if not (text.isascii() and text[:1].isalpha() and text.replace("-", "a").isidentifier()):
        raise ValueError(
            f"{units.shown(text)} is not a valid name: use a letter, "
            "then letters, digits, `_` and `-`"
        )
    return text


def _pattern(valid: Iterable[str]) -> str:
    return f"^{units.NUMBER_PATTERN}({'|'.join(valid)})$"


Slug = Annotated[
    str,
    AfterValidator(_slug),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,39}$"}),
]
"""A name; it becomes part of host names, file names and paths of ``--set``."""

Rate = Annotated[
    int,
    PlainValidator(units.parse_rate),
    PlainSerializer(units.format_rate, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _pattern(["([kKmMgG][iI]?)?[bB][iI][tT]"]),  # tc ignores case
            "examples": ["10mbit"],
        }
    ),
]
"""Bits per second."""

LinkRate = Annotated[
    units.LinkRate,
    PlainValidator(
        lambda value: value if isinstance(value, units.LinkRate) else units.parse_link_rate(value)
    ),
    PlainSerializer(str, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _pattern(["([kKmMgG][iI]?)?[bB][iI][tT]", "%"]),
            "examples": ["10mbit", "95%"],
        }
    ),
]
"""Bits per second, or a share of a link's."""

_TIME_SCHEMA = {
    "type": "string",
    "pattern": _pattern(units.TIME_UNITS_NS),
    "examples": ["60s", "10ms"],
}
Time = Annotated[
    float,
    PlainValidator(units.parse_time),
    PlainSerializer(units.format_time, when_used="json"),
    WithJsonSchema(_TIME_SCHEMA),
]
"""Seconds, zero or more."""

Duration = Annotated[Time, AfterValidator(_above_zero), WithJsonSchema(_TIME_SCHEMA)]
"""Seconds above zero."""

Delay = Annotated[Time, AfterValidator(short_delay), WithJsonSchema(_TIME_SCHEMA)]
"""Seconds from 0 to 600, one way."""

Period = Annotated[Time, AfterValidator(_period), WithJsonSchema(_TIME_SCHEMA)]
"""Seconds from 1 ms."""

Frequency = Annotated[
    float,
    PlainValidator(units.parse_frequency),
    PlainSerializer(units.format_frequency, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _pattern(units.FREQUENCY_UNITS_S),
            "examples": ["5/s", "30/min"],
        }
    ),
]
"""How often, on average, in a second; above zero."""

Size = Annotated[
    int,
    PlainValidator(units.parse_size),
    PlainSerializer(units.format_size, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": _pattern(units.SIZE_UNITS), "examples": ["150kB"]}
    ),
]
"""Bytes, at least one."""

Chance = Annotated[
    float,
    PlainValidator(units.parse_chance),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{units.NUMBER_PATTERN}%?$"},
                {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            ],
            "examples": ["0.1%", 0.001],
        }
    ),
]
"""A probability from 0 to below 1."""

Probability = Annotated[
    float,
    PlainValidator(units.parse_probability),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{units.NUMBER_PATTERN}%?$"},
                {"type": "number", "minimum": 0, "maximum": 1},
            ],
            "examples": ["25%", 1],
        }
    ),
]
"""A probability from 0 to 1, both included."""

QueueLimit = Annotated[
    units.Limit,
    PlainValidator(
        lambda value: value if isinstance(value, units.Limit) else units.parse_limit(value)
    ),
    PlainSerializer(str, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _pattern(["p", *units.SIZE_UNITS, *units.TIME_UNITS_NS, r"bdp(\(min\))?"]),
            "examples": ["100p", "150kB", "20ms", "1bdp", "2.5bdp(min)"],
        }
    ),
]
"""A queue's limit in packets, bytes, time at the link's rate, or bandwidth-delay products."""


class ShortForm(Strict):
    """A mapping that may be written as the single value of its key ``short``."""

    short: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_one_value(cls, data: Any) -> Any:
        return data if isinstance(data, (dict, cls)) else {cls.short: data}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler(schema)
        short = dict(handler.resolve_ref_schema(whole)["properties"][cls.short])
        for word in ("title", "description", "default"):
            short.pop(word, None)
        return {"anyOf": [short, whole]}


class Directional(Strict, Generic[T]):
    """One value for both directions, or ``{forward: ..., reverse: ...}``."""

    forward: T = Field(description="from the link's left (sources) to its right (sinks)")
    reverse: T = Field(description="from the link's right (sinks) to its left (sources)")

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, data: Any) -> Any:
        if isinstance(data, Directional) or (isinstance(data, dict) and data.keys() & _DIRECTIONS):
            return data
        return {"forward": data, "reverse": data}

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        each = handler(self)
        return each if self.forward != self.reverse else each.get("forward")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        each = handler(schema)
        one = dict(handler.resolve_ref_schema(each)["properties"]["forward"])
        one.pop("description", None)
        one.pop("title", None)
        return {"anyOf": [one, each]}  # each may be a reference


_DIRECTIONS = {"forward", "reverse"}


class RateBothWays(Directional[Rate]):
    """Bits per second of each direction."""


class DelayBothWays(Directional[Delay]):
    """Seconds of each direction, one way."""
