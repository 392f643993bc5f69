"""What checks of congestion-control modules found in the guest's kernel."""

from __future__ import annotations

from pydantic import Field

from results.contract.base import Number, ResponseModel


class CaseResult(ResponseModel):
    """One test of a module, with the expected and the actual result."""

    about: str = Field(description="what it is a test of")
    parameter: str | None = Field(description="the tested parameter, if any")
    asked: str = Field(description="what was tried")
    wanted: str | bool | list[str]
    got: str | bool | list[str]
    ok: bool


class CheckedModule(ResponseModel):
    """All results about a module."""

    module: str
    ok: bool
    loads: bool
    parameters: bool
    refuses: bool = Field(description="it refuses values outside of the ranges")
    unloads: bool
    status: str = Field(description="of the run with one flow of it")
    verdict: str | None
    utilisation: Number
    error: str | None
    answers: list[CaseResult]


class CheckedModules(ResponseModel):
    """Checked modules, as `orchestrator kmods check --json` prints them."""

    modules: list[CheckedModule]
