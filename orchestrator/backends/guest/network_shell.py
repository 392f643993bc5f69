"""A scenario's network in a guest, for commands that a user types.

The guest is in virtual time, so that delays and rates are exact. While no command runs, its kernel
is stopped from outside: a user's thinking would otherwise be hours for it.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from types import FrameType
from typing import TYPE_CHECKING

from orchestrator import sandbox
from orchestrator.backends import bed_bundle, process
from orchestrator.backends.contract import RunContext
from orchestrator.backends.guest.boot import ENVIRONMENT, command_of
from orchestrator.compile import bounds
from orchestrator.compile.testbed_spec import interactive_spec
from orchestrator.decode.output import require_small_console
from orchestrator.errors import GuestError
from orchestrator.files.temporary import temporary_folder
from orchestrator.protocol.commands import (
    PROMPT,
    PROMPT_BYTES,
    SAID,
    command_file,
    interrupt_file,
)
from orchestrator.sandbox import limits, view

if TYPE_CHECKING:
    from orchestrator.backends.guest import Guest
    from orchestrator.planning.runspec import RunSpec
    from orchestrator.protocol.commands import Command

PROCESSES = 1000
"""Most processes of all commands together."""

_POLL_S = 0.005
_SAID_BYTES = 256 * bounds.MIB
_LONGEST_START_S = 300.0

Show = Callable[[str], None]
"""Takes text as programs have printed it, which may be hostile."""


@contextlib.contextmanager
def opened(guest: Guest, spec: RunSpec, show: Show) -> Iterator[NetworkShell]:
    """Boot a guest, build the network of a planned run in it, and yield what runs commands there.

    ``guest`` is prepared for a plan with this run.

    Raises:
        GuestError: the network cannot be built, or the guest ended.
        MachineError: this user cannot be confined here.
    """
    with temporary_folder("shell") as folder:
        of_run = bounds.of(spec)
        files = {**of_run.file_bytes, SAID: _SAID_BYTES, PROMPT: PROMPT_BYTES}
        allowed_files = replace(of_run, file_bytes=files)
        context = RunContext(folder, 0, _ignore, _ignore, bounds=allowed_files)
        # With a kernel that is stopped from outside only the processes that it traces stop.
        boot = replace(guest.boot(spec), stubs="ptrace")
        paths, _provided = guest.write_input(spec, folder, interactive_spec)
        bed_bundle.write(paths.input)
        allowed = limits.of_guest(boot.memory_bytes, PROCESSES, context.bounds.total_bytes)
        with (
            sandbox.guest_sandbox(paths, boot.memory_bytes, allowed) as boundary,
            (folder / "console").open("wb") as console,
            process.started(
                boundary.command(command_of(boot, paths)),
                console,
                {**ENVIRONMENT, **view.run_environment(folder)},
                os.sched_getaffinity(0),
                boundary=boundary,
            ) as started,
        ):
            context.output.owner_uid = boundary.uid
            shell = NetworkShell(context, paths.input, started, show)
            try:
                shell.await_network()
                yield shell
            finally:
                shell.close()


def _ignore(_group: int) -> None:
    """Do nothing: the guest ends with this process, as every sandbox does."""


@dataclass
class NetworkShell:
    """Runs commands in the network's hosts, one after the other."""

    context: RunContext
    input_folder: Path
    started: Popen[bytes]
    show: Show

    def __post_init__(self) -> None:
        self._end = os.pidfd_open(self.started.pid)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._shown_bytes = 0
        self._number = 0
        self._kernel: int | None = None

    def close(self) -> None:
        """Give back what watches the guest, which is ended by whoever started it."""
        os.close(self._end)

    def run(self, command: Command) -> int:
        """Run a command, show what it prints meanwhile, and return its exit status.

        A Ctrl-C ends the command with SIGINT.

        Raises:
            GuestError: the guest ended, or a program has printed too much.
            KeyboardInterrupt: at a second Ctrl-C.
        """
        self._number += 1
        place = self.input_folder / command_file(self._number)
        unfinished = place.with_suffix(".part")
        unfinished.write_text(json.dumps(command), encoding="utf-8")
        unfinished.rename(place)
        self._signal(signal.SIGCONT)
        with _interrupts_counted() as count:

            def interrupted() -> None:
                if count() > 1:
                    raise KeyboardInterrupt
                if count() == 1:
                    (self.input_folder / interrupt_file(self._number)).touch()

            return self._await_prompt(interrupted)

    def await_network(self) -> None:
        """Wait until the network is built, and stop the guest.

        Raises:
            GuestError: it cannot be built, or not in time.
        """
        deadline_s = time.monotonic() + _LONGEST_START_S

        def late() -> None:
            if time.monotonic() > deadline_s:
                lines = process.last_output(self.context)
                raise GuestError(f"the network was not built within {_LONGEST_START_S:g} s", lines)

        self._await_prompt(late)

    def _await_prompt(self, meanwhile: Callable[[], None]) -> int:
        """Wait until the present command has ended, stop the guest, and return the exit status."""
        while True:
            ended = bool(select.select([self._end], [], [], _POLL_S)[0])
            prompt = self._prompt()
            self._show()
            if prompt is not None:
                self._signal(signal.SIGSTOP)
                return prompt
            if ended:
                process.require_done(self.context, 0.0, "the guest", GuestError)
                raise GuestError("the guest ended")
            meanwhile()

    def _prompt(self) -> int | None:
        """Return the exit status of the present command; None while it runs."""
        output = self.context.output
        output.written()
        require_small_console(self.context.console, self.context.bounds)
        words = (output.start(PROMPT, PROMPT_BYTES) or b"").split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return None
        number, status = map(int, words)
        return status if number == self._number else None

    def _show(self) -> None:
        file = self.context.output.opened(SAID)
        if file is None:
            return
        size = file.size()
        while self._shown_bytes < size:
            part = file.read(self._shown_bytes, size - self._shown_bytes)
            if not part:
                return
            self._shown_bytes += len(part)
            self.show(self._decoder.decode(part).replace("\r\n", "\n"))

    def _signal(self, number: signal.Signals) -> None:
        """Stop or continue the guest's kernel. Its processes are stopped with it: it traces them.

        A signal to one of them would only be seen by the kernel that traces it.
        """
        if self._kernel is None:
            self._kernel = _kernel_below(self.started.pid)
        if self._kernel is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._kernel, number)


@contextlib.contextmanager
def _interrupts_counted() -> Iterator[Callable[[], int]]:
    """Count Ctrl-C in the block instead of raising, which could cut the output in the middle."""
    seen: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: len(seen)
    finally:
        signal.signal(signal.SIGINT, before)


def _kernel_below(ancestor: int) -> int | None:
    """Return the process of the guest's kernel below a process; None when there is none."""
    children = _children()
    waiting = [ancestor]
    while waiting:
        pid = waiting.pop(0)
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            if words[0] == sandbox.KERNEL.encode() and "\nTracerPid:\t0\n" in status:
                return pid
        waiting += children.get(pid, [])
    return None


def _children() -> Mapping[int, list[int]]:
    """Return the children of each process of this machine."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{entry.name}/stat").read_text(encoding="utf-8")
                parent = int(text.rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    return children
