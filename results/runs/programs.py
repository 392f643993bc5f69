"""The programs of a run's flows: how they ended, their numbers, and the files that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.protocol.programs import ENDED, ENDINGS, ROLES
from orchestrator.recording.extracted import ExtractedNumber
from orchestrator.recording.kept import KeptFile
from results.metrics import Metric, any_scope
from results.records import typed
from results.store.parts import integrity
from results.store.stored import StoredRun

KEY = "programs"
"""Of the provenance."""


@dataclass(frozen=True)
class ProgramEnd:
    """A program of a flow, and how it ended.

    ``role`` is one of ROLES, ``ended_by`` one of ENDINGS of ``orchestrator/protocol/programs.py``.
    Times count from the start of traffic. ``status`` is the exit status of one that ended by
    itself, ``signal`` the number of the signal that ended it. ``stdout`` and ``stderr`` have the
    begin and the end of what it printed, of so many bytes in all.
    """

    flow: str
    role: str
    begun_s: float
    ended_s: float
    ended_by: str
    status: int | None
    signal: int | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int

    def __post_init__(self) -> None:
        if self.role not in ROLES or self.ended_by not in ENDINGS:
            raise ValueError(f"a program is {self.role!r:.40}, ended by {self.ended_by!r:.40}")

    @property
    def ending(self) -> str:
        """How it ended, in words such as ``exit status 22`` or ``out_of_time``."""
        if self.ended_by != ENDED:
            return self.ended_by
        return f"signal {self.signal}" if self.status is None else f"exit status {self.status}"


@dataclass(frozen=True)
class FlowNumber:
    """A number that was taken from what a flow's client printed."""

    flow: str
    number: ExtractedNumber

    @property
    def metric(self) -> Metric:
        """The flow's metric that it is."""
        return any_scope(self.number.metric)

    @property
    def found(self) -> str:
        """How often the pattern matched, in words."""
        matches, numbers = self.number.matches, self.number.numbers
        if not matches:
            return "no match"
        words = "1 match" if matches == 1 else f"{matches} matches"
        return words if numbers == matches else f"{words}, {numbers} of them a number"


@dataclass(frozen=True)
class FlowFile:
    """A file that a flow's program has left: kept with the run, or left out.

    ``position`` is its number among all of the run, from 0 on.
    """

    position: int
    flow: str
    file: KeptFile


def files_of(run: StoredRun) -> list[FlowFile]:
    """Return the files that a run keeps, and those that it leaves out, by flow and program.

    Raises:
        StoreError: they are damaged, or of a flow that the run does not have.
    """
    try:
        return [
            FlowFile(position, run.flows[one.flow].name, one)
            for position, one in enumerate(run.kept_files)
        ]
    except IndexError as error:
        raise integrity.damaged(run.id, "table kept_files: one is of an unknown flow") from error


def numbers_of(run: StoredRun) -> list[FlowNumber]:
    """Return the numbers of programs' output of a run, in the order of flows and names.

    Raises:
        StoreError: the provenance of the run has something else.
    """
    return [
        FlowNumber(flow, number)
        for flow, numbers in run.extracted_numbers.items()
        for number in numbers
    ]


def of_run(run: StoredRun) -> list[ProgramEnd]:
    """Return the programs of a stored run, in the order of flows and roles.

    Raises:
        StoreError: the provenance of the run has something else.
    """
    by_flow: Any = run.provenance.get(KEY, {})
    try:
        return [
            typed.make(ProgramEnd, {"flow": flow, "role": role, **_mapping(programs[role])})
            for flow, programs in _mapping(by_flow).items()
            for role in ROLES
            if role in _mapping(programs)
        ]
    except (TypeError, ValueError) as error:
        raise integrity.damaged(run.id, f"table provenance: {KEY}: {error}") from error


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r:.40} is no mapping")
    return value
