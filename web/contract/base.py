"""What the answers of the API are declared with."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

Number = float | None
"""A number; null means infinite or unknown."""

Variant = dict[str, Any]
"""Values of a scenario's matrix by the path of their axis, or by its name."""

Verdict = Literal["faithful", "doubtful", "unfaithful"]


class ResponseModel(BaseModel):
    """A JSON object that the API answers with. New keys may come, those that are here stay."""


class Error(ResponseModel):
    """What is wrong with a request."""

    status: int = Field(description="HTTP status of the answer")
    title: str = Field(description="what kind of error it is")
    message: str = Field(description="what is wrong, and what is valid")


class Problem(ResponseModel):
    """The answer to a request that cannot be answered."""

    error: Error


class Versioned(ResponseModel):
    """An answer with the version of its document."""

    schema_: Literal[1] = Field(
        alias="schema", description="version of the document; new keys do not change it"
    )
