"""What is examined on a machine and in a results database, and what a merge took."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from results.contract.base import ResponseModel, Versioned


class Finding(ResponseModel):
    """One thing that was examined on a machine."""

    backend: str = Field(description="empty: all back ends need it")
    name: str
    ok: bool
    detail: str
    fix: str = Field(description="empty where it is ok")


class Diagnosis(ResponseModel):
    """What a machine has and lacks, as `orchestrator doctor --json` prints it."""

    ok: bool = Field(description="whether runs can start")
    backends: dict[str, Literal["not set up here", "ready", "not ready"]]
    findings: list[Finding]


class Damage(ResponseModel):
    """What is wrong with the rows of a run in one table."""

    table: str
    problem: str


class RunIntegrity(ResponseModel):
    """The result of comparing a run's rows with its checksums."""

    id: str = Field(description="`#KEY` where the table of runs has no such run")
    state: Literal["ok", "damaged", "running"]
    damage: list[Damage]


class StoreIntegrity(ResponseModel):
    """The state of a results database, as `orchestrator doctor --store --json` prints it."""

    ok: bool
    schema_: int = Field(alias="schema", description="version of the file's schema")
    problems: list[str] = Field(description="those of the file, not of a single run")
    counts: dict[Literal["ok", "damaged", "running"], int] = Field(
        description="number of runs in each state"
    )
    runs: list[RunIntegrity]


class MergedSource(ResponseModel):
    """What became of the runs of another results database, by their ids."""

    source: str
    taken: list[str]
    there: list[str] = Field(description="equal runs that were there already")
    removed: list[str] = Field(description="those that were removed here before")
    running: list[str] = Field(description="those that had not ended")
    refused: dict[str, str] = Field(description="malformed ones, with the reason")


class Merge(Versioned):
    """What a merge took, as `orchestrator merge --json` prints it."""

    stores: list[MergedSource]
