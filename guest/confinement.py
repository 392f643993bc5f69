"""What confines the steps of a kernel's build, which run what the kernel's source has.

A Makefile, a script and a program that the build compiles can do anything that a step may do. This
package knows no sandbox. Whoever asks for a kernel says how its steps are confined:
``orchestrator.sandbox.kernel_builds`` has a sandbox for them, and ``unconfined`` has none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from guest.step_runner import run_step


@dataclass(frozen=True)
class Workshop:
    """The folders of one build on this machine.

    Attributes:
        folder: holds ``tree`` and ``inputs``; nothing else of it is shown to a step.
        compiled: the folder of ccache.
        lock: the descriptor of the builder's lock. It stays locked until the last process of a step
            has ended, even when the builder is killed.
    """

    folder: Path
    compiled: Path
    lock: int | None = None

    @property
    def tree(self) -> Path:
        """The kernel's tree, where steps run. Only steps write it after the first one has run."""
        return self.folder / "tree"

    @property
    def inputs(self) -> Path:
        """What the builder gives to steps, such as patches. Steps read it only."""
        return self.folder / "inputs"

    def give(self, name: str, content: bytes) -> Path:
        """Write a file for steps, which all may read, and return its path."""
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
        for folder in path.relative_to(self.inputs).parents:
            (self.inputs / folder).chmod(0o755)
        return path


class Room(Protocol):
    """Where the steps of one build run, one after another."""

    def shown(self, path: Path) -> str:
        """Return the path at which a step finds a path of the workshop."""

    def run(
        self,
        argv: Sequence[str],
        each_line: Callable[[str], None],
        environment: Mapping[str, str],
    ) -> int:
        """Run a step in the tree to its end and return its status.

        Args:
            argv: the program and its arguments.
            each_line: called with each line that it prints.
            environment: all of its environment.

        Raises:
            KernelBuildError: it exceeded a limit.
        """


Confine = Callable[[Workshop], AbstractContextManager[Room]]
"""Opens a room for a workshop whose folders are there.

When it is closed, no process of a step is left, and all files belong to the builder's user. It
raises MachineError where this machine cannot confine a build.
"""


@dataclass(frozen=True)
class _OpenRoom:
    """A room in which steps have all the rights of the builder."""

    workshop: Workshop

    def shown(self, path: Path) -> str:
        return str(path)

    def run(
        self,
        argv: Sequence[str],
        each_line: Callable[[str], None],
        environment: Mapping[str, str],
    ) -> int:
        held = () if self.workshop.lock is None else (self.workshop.lock,)
        return run_step(argv, each_line, environment, self.workshop.tree, held)


@contextlib.contextmanager
def unconfined(workshop: Workshop) -> Iterator[Room]:
    """Open a room for the build of a trusted source: its steps run with this user's rights."""
    yield _OpenRoom(workshop)
