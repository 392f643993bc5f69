"""How the parameters of an address are read. One declaration is the check and the document.

A parameter is a field of a :class:`Query`. Its annotation reads the text, and has the JSON schema
of what may be given::

    most: Annotated[int, WholeNumber(1, 1000)] = Field(default=100, description="number of runs")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from orchestrator.errors import UsageError
from orchestrator.units import parse_share
from web.http import query


class AddressParts(BaseModel):
    """The parts of an address that name something."""

    model_config = ConfigDict(frozen=True)


class Query(BaseModel):
    """Parameters of an address.

    The fields of a base come before those of a class that names it earlier. This is the order in
    which an error lists them.
    """

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls, args: query.Arguments) -> Self:
        """Return the parameters of a request.

        Raises:
            UsageError: there is no such parameter, one is given twice, or a value is not valid.
        """
        names = _names(cast(Any, cls))
        query.check_names(args, names)
        given: dict[str, Any] = {}
        for name, repeatable in names.items():
            texts = args.getlist(name)
            if len(texts) > 1 and not repeatable:
                raise UsageError(f"{name} is given {len(texts)} times; give it once")
            if texts:
                given[name] = texts if repeatable else texts[0]
        return cls.model_validate(given)


@cache
def _names(model: type[Query]) -> dict[str, bool]:
    """Return the names of the parameters, and whether each may be repeated."""
    return {
        field.alias or name: any(isinstance(annotation, Texts) for annotation in field.metadata)
        for name, field in model.model_fields.items()
    }


class NoParameters(Query):
    """No parameters."""


class ParameterType(ABC):
    """The type of a parameter: how its text is read, and its JSON schema."""

    @abstractmethod
    def parse(self, name: str, given: Any) -> Any:
        """Return the value of the parameter of that name; UsageError when it is not valid.

        ``given`` is the text in the address. For :class:`Texts` it is a list of texts.
        """

    @abstractmethod
    def schema(self) -> JsonSchemaValue:
        """Return the JSON schema of what may be given."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        def read(given: Any, info: core_schema.ValidationInfo[Any]) -> Any:
            # `from` is no name for a field of a class, so it is from_s there.
            return self.parse(str(info.field_name).removesuffix("_s"), given)

        return core_schema.with_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return self.schema()


@dataclass(frozen=True)
class WholeNumber(ParameterType):
    """A whole number from ``least`` to ``most``."""

    least: int
    most: int

    def parse(self, name: str, given: Any) -> int:
        """Return the number."""
        return query.whole_of(name, given, self.least, self.most)

    def schema(self) -> JsonSchemaValue:
        """Return the schema with both limits."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Seconds(ParameterType):
    """A number of seconds."""

    def parse(self, name: str, given: Any) -> float:
        """Return the number."""
        return query.seconds_of(name, given)

    def schema(self) -> JsonSchemaValue:
        """Return the schema with both limits."""
        return {
            "type": "number", "exclusiveMinimum": -query.EVER_S, "exclusiveMaximum": query.EVER_S,
        }  # fmt: skip


@dataclass(frozen=True)
class OneOf(ParameterType):
    """One of some words."""

    choices: tuple[str, ...]

    def parse(self, name: str, given: Any) -> str:
        """Return the word."""
        return query.choice_of(name, given, self.choices)

    def schema(self) -> JsonSchemaValue:
        """Return the schema that lists the words."""
        return {"type": "string", "enum": list(self.choices)}


@dataclass(frozen=True)
class Names(ParameterType):
    """Names in one text, with commas between; without any, the usual ones."""

    usual: tuple[str, ...]

    def parse(self, name: str, given: Any) -> tuple[str, ...]:
        """Return the different names."""
        del name  # none is wrong here: which fields there are depends on the run
        return query.fields_of(given) or self.usual

    def schema(self) -> JsonSchemaValue:
        """Return the schema of a text."""
        return {"type": "string"}


@dataclass(frozen=True)
class Texts(ParameterType):
    """A parameter that may be given several times, at most ``most``; ``what`` they are."""

    most: int
    what: str

    def parse(self, name: str, given: Any) -> tuple[Any, ...]:
        """Return the different texts."""
        if len(given) > self.most:
            raise UsageError(f"{name}: give at most {self.most} {self.what}")
        return tuple(dict.fromkeys(given))

    def schema(self) -> JsonSchemaValue:
        """Return the schema of a list."""
        return {"type": "array", "items": {"type": "string"}, "maxItems": self.most}


@dataclass(frozen=True)
class Shares(Texts):
    """Shares between 0 and 1, such as ``0.9`` or ``90%``, that may be given several times."""

    def parse(self, name: str, given: Any) -> tuple[Any, ...]:
        """Return the different shares."""
        return tuple(_share(name, text) for text in super().parse(name, given))


def _share(name: str, text: str) -> float:
    try:
        return parse_share(text)
    except ValueError as error:
        raise UsageError(f"{name}={text}: {error}") from None
