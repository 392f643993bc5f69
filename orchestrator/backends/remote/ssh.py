"""Access to other machines over SSH: commands, interactive programs, folders and clocks.

Any thread may call these methods; one thread of an ``SshConnections`` serves all connections. A
command is a list of words, each quoted for the remote shell, so a shell never interprets a user's
text. The other machine needs an SSH server, ``tar``, and ``python3`` for clocks.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import asyncssh

from orchestrator import plaintext
from orchestrator.backends.remote import clocks
from orchestrator.backends.remote.archive import (
    MOST_BYTES,
    SPARE_BYTES,
    files_of,
    pack,
    too_much,
    unpack,
)
from orchestrator.backends.remote.clocks import ClockOffset
from orchestrator.backends.remote.ssh_connection import (
    Address,
    close,
    connect,
    end_tasks,
    reason,
)
from orchestrator.errors import RemoteError

__all__ = [
    "Address",
    "ClockOffset",
    "CommandResult",
    "RemoteMachine",
    "RemoteProgram",
    "SshConnections",
    "at_once",
    "files_of",
]  # fmt: skip

T = TypeVar("T")
R = TypeVar("R")

SILENCE_S = 6.0
"""A machine that has not answered for this time counts as lost."""
COMMAND_S = 60.0
_KEPT_LINES = 40
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class CommandResult:
    """A command's exit status (negative: the signal that ended it) and its output."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def error_line(self) -> str:
        """The last line of its standard error, or of its output when that is empty."""
        for stream in (self.stderr, self.stdout):
            lines = stream.decode(errors="replace").strip().splitlines()
            if lines:
                return plaintext.visible(plaintext.shortened(lines[-1].strip()))
        return f"status {self.status}"


class SshConnections:
    """Connections to machines, and the thread that serves them; a context manager."""

    def __init__(self, silence_s: float = SILENCE_S) -> None:
        self._silence_s = silence_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self._remotes: list[RemoteMachine] = []

    def __enter__(self) -> SshConnections:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for remote in self._remotes:
            remote.close()
        self.await_(end_tasks(), None)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def await_(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None) -> T:
        """Return the coroutine's result; raise its error, or TimeoutError after ``timeout_s``."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            if future.done():
                raise
            future.cancel()
            raise TimeoutError from None
        except BaseException:
            future.cancel()
            raise

    def connect(self, address: Address) -> RemoteMachine:
        """Connect to a machine.

        Raises:
            RemoteError: it cannot be reached; names the machine and the reason.
        """
        connection = self.await_(connect(address, self._silence_s), None)
        remote = RemoteMachine(self, address, connection)
        self._remotes.append(remote)
        return remote


def at_once(work: Callable[[T], R], items: Iterable[T]) -> list[R | RemoteError]:
    """Call ``work`` for all items in parallel; return each result, or its RemoteError."""

    def one(item: T) -> R | RemoteError:
        try:
            return work(item)
        except RemoteError as error:
            return error

    chosen = list(items)
    with ThreadPoolExecutor(max(1, len(chosen))) as pool:
        return list(pool.map(one, chosen))


class RemoteMachine:
    """One connected machine, created by ``SshConnections.connect``; any thread may use it."""

    def __init__(
        self, fleet: SshConnections, address: Address, connection: asyncssh.SSHClientConnection
    ) -> None:
        self.address = address
        self._fleet, self._connection = fleet, connection

    def close(self) -> None:
        """Close the connection; programs started through it read the end of their input."""
        self._fleet.await_(close(self._connection), None)

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        root: bool = False,
        timeout_s: float = COMMAND_S,
    ) -> CommandResult:
        """Run a command to its end, with ``stdin`` as its standard input.

        Raises:
            RemoteError: the connection was lost, or the command takes longer than ``timeout_s``.
        """
        command = self._words(command, root)

        async def ran() -> CommandResult:
            process = await self._connection.create_process(shlex.join(command), encoding=None)
            async with process:
                done = await process.communicate(stdin or None)
            return CommandResult(_status(process), _bytes(done[0]), _bytes(done[1]))

        return self._do(ran(), f"`{shlex.join(command)}`", timeout_s)

    def require(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        root: bool = False,
        timeout_s: float = COMMAND_S,
    ) -> bytes:
        """Run a command as ``run`` does; return its output, RemoteError when it fails."""
        done = self.run(command, stdin=stdin, root=root, timeout_s=timeout_s)
        if done.status:
            raise RemoteError(f"{self.address}: `{shlex.join(command)}` failed: {done.error_line}")
        return done.stdout

    def start(
        self,
        command: Sequence[str],
        on_line: Callable[[bytes], None],
        ended: Callable[[int | None], None],
        *,
        root: bool = False,
    ) -> RemoteProgram:
        """Start a program that exchanges lines with this process.

        Args:
            command: its command line.
            on_line: called with each line of its output, without the end of the line.
            ended: called once at its end with its exit status, or None when the connection was
                lost. The fleet's thread makes both calls, so they must return quickly.
            root: whether it runs as root.
        """
        command = self._words(command, root)

        async def started() -> asyncssh.SSHClientProcess[bytes]:
            return await self._connection.create_process(shlex.join(command), encoding=None)

        process = self._do(started(), f"`{shlex.join(command)}`", COMMAND_S)
        return RemoteProgram(self._fleet, process, on_line, ended)

    def put(self, files: Iterable[tuple[Path, str]], folder: str, *, root: bool = False) -> None:
        """Copy files, given as (path here, relative name there), into an existing folder there."""
        command = ["tar", "--extract", "--no-same-owner", "--file=-", f"--directory={folder}"]
        self.require(command, stdin=pack(files), root=root)

    def fetch(
        self,
        remote_folder: str,
        folder: Path,
        *,
        root: bool = False,
        timeout_s: float = 600,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Copy the files of a folder there into a new folder here.

        Raises:
            RemoteError: also when the folder holds anything but regular files and folders, or more
                than ``most_bytes``.
        """
        command = self._words(
            ["tar", "--create", "--file=-", f"--directory={remote_folder}", "."], root
        )
        folder.mkdir(parents=True)
        archive = folder.with_name(folder.name + ".tar")

        async def fetched() -> None:
            process = await self._connection.create_process(shlex.join(command), encoding=None)
            async with process:
                process.stdin.write_eof()
                with archive.open("wb") as file:
                    while chunk := await process.stdout.read(_CHUNK_BYTES):
                        file.write(chunk)
                        if file.tell() > most_bytes + SPARE_BYTES:
                            raise RemoteError(
                                f"{self.address}: {too_much(remote_folder, most_bytes)}"
                            )
                stderr = await process.stderr.read()
                await process.wait_closed()
            if _status(process):
                said = CommandResult(_status(process), b"", stderr).error_line
                raise RemoteError(f"{self.address}: cannot send {remote_folder}: {said}")

        try:
            self._do(fetched(), f"the files of {remote_folder}", timeout_s)
            unpack(archive, folder, self.address, most_bytes)
        finally:
            archive.unlink(missing_ok=True)

    def clock_offset(
        self, python: str = "/usr/bin/python3", rounds: int = clocks.ROUNDS
    ) -> ClockOffset:
        """Measure how far its clocks are ahead of ours, by the shortest of several round trips."""
        command = self._words([python, "-c", clocks.READER], False)

        async def measured() -> ClockOffset:
            process = await self._connection.create_process(shlex.join(command), encoding=None)
            async with process:
                best = [await clocks.round_trip(process, self.address) for _round in range(rounds)]
                process.stdin.write_eof()
            return min(best, key=lambda offset: offset.uncertainty_ns)

        return self._do(measured(), "reading its clock", COMMAND_S)

    def _words(self, command: Sequence[str], root: bool) -> list[str]:
        return ["sudo", "-n", "--", *command] if root and self.address.root_by_sudo else [*command]

    def _do(self, coroutine: Coroutine[Any, Any, T], what: str, timeout_s: float) -> T:
        try:
            return self._fleet.await_(coroutine, timeout_s)
        except TimeoutError:
            text = f"{self.address}: {what} did not end within {timeout_s:g} s"
            raise RemoteError(text) from None
        except (asyncssh.Error, OSError) as error:
            raise RemoteError(f"{self.address}: lost during {what}: {reason(error)}") from None


class RemoteProgram:
    """A program that runs on another machine; see ``RemoteMachine.start``."""

    def __init__(
        self,
        fleet: SshConnections,
        process: asyncssh.SSHClientProcess[bytes],
        on_line: Callable[[bytes], None],
        ended: Callable[[int | None], None],
    ) -> None:
        self._fleet, self._process = fleet, process
        self._on_line, self._ended = on_line, ended
        self._error_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._over = threading.Event()
        self._following = asyncio.run_coroutine_threadsafe(self._follow(), fleet._loop)

    @property
    def error_lines(self) -> list[str]:
        """The last lines of its standard error."""
        return list(self._error_lines)

    def send_line(self, line: bytes) -> None:
        """Write a line to its standard input; do nothing when it has ended."""

        async def sent() -> None:
            with contextlib.suppress(asyncssh.Error, OSError):
                self._process.stdin.write(line + b"\n")

        self._fleet.await_(sent(), None)

    def end_input(self) -> None:
        """Close its standard input."""

        async def sent() -> None:
            with contextlib.suppress(asyncssh.Error, OSError):
                self._process.stdin.write_eof()

        self._fleet.await_(sent(), None)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end, at most ``timeout_s``; return whether it has ended."""
        return self._over.wait(timeout_s)

    async def _follow(self) -> None:
        status: int | None = None
        try:
            await asyncio.gather(
                self._lines(self._process.stdout, self._on_line),
                self._lines(self._process.stderr, self._keep_error_line),
            )
            await self._process.wait_closed()
            if self._process.returncode is not None:
                status = self._process.returncode
        except (asyncssh.Error, OSError) as error:
            self._error_lines.append(reason(error))
        finally:
            self._over.set()
            self._ended(status)

    def _keep_error_line(self, line: bytes) -> None:
        self._error_lines.append(
            plaintext.visible(plaintext.shortened(line.decode(errors="replace")))
        )

    async def _lines(
        self, stream: asyncssh.SSHReader[bytes], take: Callable[[bytes], None]
    ) -> None:
        while line := await stream.readline():
            take(line.rstrip(b"\n"))


def _status(process: asyncssh.SSHClientProcess[bytes]) -> int:
    """Return a process's exit status; OSError when its connection was lost before."""
    if process.returncode is None:
        raise OSError("the connection ended")
    return process.returncode


def _bytes(output: bytes | str | None) -> bytes:
    return output.encode() if isinstance(output, str) else output or b""
