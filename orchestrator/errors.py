"""The errors that this project raises deliberately, and the exit status of each.

::

    OrchestratorError
    ├── UsageError (2)            a wrong argument or option value
    │   ├── ScenarioError (2)     one or more faults in a scenario, each with file:line:column
    │   └── ModuleError (2)       a user's module cannot be built or used; carries the fix
    ├── StoreError (1)            the results store cannot be read or written
    │   └── NotAStoreError (2)    the file of --db is not a results store, or there is none
    ├── RunError (1)              a run could not be completed; it is stored as failed
    │   ├── BedError (1) a test bed failed, ended early or hung; has its last lines
    │   │   └── GuestError (1)    that of a guest
    │   └── RemoteError (1)       a machine cannot be reached over SSH, or a command failed there
    ├── CleanupError (1) the crash reaper was killed
    ├── OutputError (1)           standard output cannot be written
    ├── ReaderGone (141)          nobody reads standard output any more, as after `| head`
    ├── Unfaithful (3)            a run completed, but its emulation cannot be trusted
    └── MachineError (4)          this machine lacks something; carries the fix
        └── KernelBuildError (4)  a guest kernel's source does not build

Only the command line turns these into text and an exit status.
"""

from __future__ import annotations

from dataclasses import dataclass


class OrchestratorError(Exception):
    """Base of every deliberate error; ``exit_status`` is what the command line ends with."""

    exit_status = 1


class UsageError(OrchestratorError):
    """An argument is wrong; the message says what is valid."""

    exit_status = 2


@dataclass(frozen=True)
class Fault:
    """One fault in a scenario: its 1-based line and column, and a message with what is valid.

    A scenario that is no text has line 0, and ``file`` names the path of its key, too.
    """

    file: str
    line: int
    column: int
    message: str

    @property
    def where(self) -> str:
        """The file with the line and the column; the file alone where there is no text."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


MOST_SHOWN = 20
"""The most faults that the text of a ScenarioError has."""


class ScenarioError(UsageError):
    """A scenario is not valid; ``faults`` lists everything found, in the order of the file."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(faults, key=lambda f: (f.file, f.line, f.column))
        lines = [str(fault) for fault in self.faults[:MOST_SHOWN]]
        if len(faults) > MOST_SHOWN:
            lines.append(f"and {len(faults) - MOST_SHOWN} more")
        super().__init__("\n".join(lines))


class ModuleError(UsageError):
    """A module of the user cannot be built or used; ``fix`` is what to change in it."""

    def __init__(self, message: str, fix: str) -> None:
        self.fix = fix
        super().__init__(_with_fix(message, fix))


class StoreError(OrchestratorError):
    """The results store cannot be read or written."""


class NotAStoreError(StoreError):
    """A file that was named as the results store is none of ours, or does not exist."""

    exit_status = UsageError.exit_status


class RunError(OrchestratorError):
    """A run could not be completed."""


class BedError(RunError):
    """A test bed failed, ended early or made no progress; ``console`` has its last lines."""

    def __init__(self, message: str, console: list[str] | None = None) -> None:
        self.console = console or []
        tail = "".join(f"\n  console: {line}" for line in self.console)
        super().__init__(message + tail)


class GuestError(BedError):
    """A guest ended early or made no progress."""


class RemoteError(RunError):
    """Another machine cannot be reached or was lost, or a command failed there."""


class CleanupError(OrchestratorError):
    """The crash reaper was killed; the plan ended early, and its completed runs are stored."""


class OutputError(OrchestratorError):
    """Standard output cannot be written; ``reason`` is the system's."""

    def __init__(self, reason: str, done: str = "") -> None:
        """``done`` says what the command has done in spite of that, and how to see it."""
        self.reason = reason
        text = f"standard output cannot be written: {reason}"
        super().__init__(_with_fix(text, done or "free some space there, or write elsewhere"))


class ReaderGone(OrchestratorError):
    """Nobody reads standard output any more. The command ends without a word, as by SIGPIPE."""

    exit_status = 128 + 13


class Unfaithful(OrchestratorError):
    """The emulation of a run differed from the scenario."""

    exit_status = 3


class MachineError(OrchestratorError):
    """This machine lacks something; ``fix`` is the command or action that provides it."""

    exit_status = 4

    def __init__(self, message: str, fix: str) -> None:
        self.fix = fix
        super().__init__(_with_fix(message, fix))


class KernelBuildError(MachineError):
    """A guest kernel's source does not build: another source would."""


def _with_fix(message: str, fix: str) -> str:
    return f"{message}\n  fix: {fix}"
