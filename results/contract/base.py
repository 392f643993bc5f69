"""What JSON documents are declared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal[1] = 1
"""Version of the documents; new keys do not change it."""

Number = float | None
"""A number; null means infinite or unknown."""

Variant = dict[str, Any]
"""Values of a scenario's matrix by the path of their axis, or by its name."""


class ResponseModel(BaseModel):
    """A JSON object. New keys may come, those that are here stay."""

    model_config = ConfigDict(defer_build=True)  # a command writes few of these documents

    def document(self) -> dict[str, Any]:
        """Return the JSON object, without the keys that only some documents have.

        A number that is not finite is null. Others stay as they are: a whole number is not made a
        decimal one.
        """
        made: dict[str, Any] = json_ready(
            self.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        )
        return made


class WithValues(ResponseModel):
    """A JSON object with keys that depend on what it is of, beside those of its model."""

    model_config = ConfigDict(extra="allow")

    def beside(self, values: Mapping[str, Any]) -> Self:
        """Return the object, which has these keys from now on."""
        extra = self.__pydantic_extra__
        assert extra is not None, "the model allows more keys"
        extra.update(values)
        return self


class Versioned(ResponseModel):
    """A JSON object with the version of its document."""

    schema_: Literal[1] = Field(
        alias="schema", description="version of the document; new keys do not change it"
    )


def json_ready(value: Any) -> Any:
    """Return JSON-ready data with null for every number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
