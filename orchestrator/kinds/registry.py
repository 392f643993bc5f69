"""Finds the kinds of topologies, queues, losses, traffic and events, each in a file of its own.

A kind is a class derived from its family's base, with a field ``kind: Literal["name"]``. A new kind
is one new file in the family's package; built-in kinds are found in the same way. A scenario loads
the files of the kinds that it uses, if these have the names of their kinds.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    ValidationError,
    core_schema,
)

from orchestrator.suggestions import KINDS, NONE, suggest
from orchestrator.units import shown

M = TypeVar("M", bound=BaseModel)
FAMILY_MARK = "x-family"
"""Placeholder key in a JSON Schema for a reference to a family's definition."""


class Kinds(Generic[M]):
    """The kinds of one family. As a type annotation, it validates a mapping by its ``kind``.

    Args:
        family: name of the family in messages.
        package: the package whose modules define the kinds.
        base: base class of all kinds.
        default: the kind of a mapping without ``kind``, or a function that returns it.
        implied: kinds by the key that stands for ``kind`` where it is not given.
        short: the (kind, key) that a single value sets. For example, ``0.1%`` means ``{kind:
            independent, probability: 0.1%}``.
        example: a valid mapping as text, for messages.
    """

    def __init__(
        self,
        family: str,
        package: str,
        base: type[M],
        default: str | Callable[[dict[Any, Any]], str | None] | None = None,
        short: tuple[str, str] | None = None,
        example: str = "",
        implied: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.family = family
        self._package = package
        self._base = base
        self._default = default
        self._implied = implied
        self.short = short
        self._example = f", such as `{example}`" if example else ""
        self._used: dict[str, type[M]] = {}

    @cached_property
    def found(self) -> dict[str, type[M]]:
        """Every kind by its name, sorted by name."""
        kinds: dict[str, type[M]] = {}
        for module in self._modules:
            for name, item in self._defined(module).items():
                if name in kinds:
                    raise TypeError(f"{self.family} kind {name!r} is defined twice")
                kinds[name] = item
        return dict(sorted(kinds.items()))

    @cached_property
    def _modules(self) -> list[str]:
        # Imported on first use, because the kinds import the module that defines the family.
        package = importlib.import_module(self._package)
        return [
            module.name for module in pkgutil.iter_modules(package.__path__, f"{self._package}.")
        ]

    def _defined(self, module: str) -> dict[str, type[M]]:
        """Return the kinds that a module defines, by name."""
        kinds: dict[str, type[M]] = {}
        for item in vars(importlib.import_module(module)).values():
            if not (isinstance(item, type) and issubclass(item, self._base)):
                continue
            if item.__module__ != module or "kind" not in item.model_fields:
                continue
            if not (names := get_args(item.model_fields["kind"].annotation)):
                continue  # a base class of several kinds
            (name,) = names
            if name in kinds:
                raise TypeError(f"{self.family} kind {name!r} is defined twice")
            kinds[name] = item
        return kinds

    def _named(self, kind: str) -> type[M] | None:
        """Return the kind of that name; the modules of other kinds are not imported if possible."""
        if kind in self._used:
            return self._used[kind]
        module = f"{self._package}.{kind.replace('-', '_')}"
        if "found" not in vars(self) and module in self._modules:
            item = self._defined(module).get(kind)
            if item is not None:
                self._used[kind] = item
                return item
        return self.found.get(kind)

    def of(self, data: object) -> type[M] | None:
        """Return the kind of a mapping, None when it names no kind that exists."""
        if not isinstance(data, dict):
            return None
        default = self._default(data) if callable(self._default) else self._default
        default = next((kind for key, kind in self._implied.items() if key in data), default)
        kind = data.get("kind", default)
        return self._named(kind) if isinstance(kind, str) else None

    def _validate(self, data: Any, info: ValidationInfo) -> M:
        if isinstance(data, self._base):
            return data
        if self.short and not isinstance(data, (dict, list)) and data is not None:
            data = {"kind": self.short[0], self.short[1]: data}
        if not isinstance(data, dict):
            expected = (
                f"a mapping with the key of one kind of {self.family}"
                if callable(self._default)
                else f"a {self.family} with a `kind`"
            )
            named = isinstance(data, str) and data in self.found and not callable(self._default)
            hint = f": write `{{kind: {data}}}`" if named else self._example
            text = f"must be {expected} ({', '.join(self.found)}), not {shown(data)}{hint}"
            raise PydanticCustomError("not_a_kind", "{text}", {"text": text})
        model = self.of(data)
        if model is None:
            raise self._unknown(data)
        return model.model_validate(data, context=info.context)

    def _unknown(self, data: dict[Any, Any]) -> ValidationError:
        kind, valid = data.get("kind"), ", ".join(self.found)
        by_key = callable(self._default)
        if "kind" in data:
            words = KINDS.get(self.family, NONE)
            close = "" if by_key else suggest(str(kind), self.found, words)
            text = f"unknown {self.family} kind {shown(kind)}{close}"
        elif by_key:
            text = f"the key of the kind of {self.family} is missing"
        else:
            text = "`kind` is missing"
        error = PydanticCustomError(
            "unknown_kind",
            "{text}; valid: {valid}{example}",
            {"text": text, "valid": valid, "example": self._example if by_key else ""},
        )
        details = InitErrorDetails(type=error, loc=("kind",), input=kind)
        return ValidationError.from_exception_data(self.family, [details])

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {FAMILY_MARK: self.family}  # schema.py replaces it by a reference

    def json_schema(self, generator: type[GenerateJsonSchema]) -> dict[str, JsonSchemaValue]:
        """Return the definitions of the family and of each of its kinds."""
        definitions: dict[str, JsonSchemaValue] = {}
        options: list[JsonSchemaValue] = []
        for kind in self.found.values():
            definition = kind.model_json_schema(schema_generator=generator)
            definitions |= {**definition.pop("$defs", {}), kind.__name__: definition}
            options.append({"$ref": f"#/$defs/{kind.__name__}"})
        if self.short:
            name, key = self.short
            options.append({"$ref": f"#/$defs/{self.found[name].__name__}/properties/{key}"})
        return {**definitions, self.family: {"anyOf": options}}
