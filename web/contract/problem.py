"""The answer to a request that cannot be answered."""

from __future__ import annotations

from pydantic import Field

from results.contract.base import ResponseModel


class Error(ResponseModel):
    """What is wrong with a request."""

    status: int = Field(description="HTTP status of the answer")
    title: str = Field(description="what kind of error it is")
    message: str = Field(description="what is wrong, and what is valid")


class Problem(ResponseModel):
    """The answer to a request that cannot be answered."""

    error: Error
