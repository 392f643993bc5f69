"""What the check of a guest kernel found."""

from __future__ import annotations

from pydantic import Field

from results.contract.base import ResponseModel, Versioned


class Tried(ResponseModel):
    """Something that was tried in short runs."""

    about: str = Field(description="digests, impairment, queue or congestion control")
    name: str
    problem: str = Field(description="what is wrong; empty when its runs are faithful and equal")
    is_absent: bool = Field(description="whether the kernel does not have it")


class CheckedKernel(Versioned):
    """A checked kernel, as `orchestrator guest check --json` prints it."""

    release: str
    key: str = Field(description="its name in the cache")
    checked_utc: str
    ok: bool = Field(description="whether all that it has is deterministic and faithful")
    problems: list[str] = Field(description="what it has and does not do well")
    absent: list[str] = Field(description="what it does not have")
    tried: list[Tried]
