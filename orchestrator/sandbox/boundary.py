"""An open sandbox, in which commands can be started: its command line, descriptors and user."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.sandbox import cgroup, launcher, syscalls
from orchestrator.sandbox.cgroup import ControlGroup
from orchestrator.sandbox.identity import Identity
from orchestrator.sandbox.limits import Limits

LAUNCHER = "/bed/launcher.py"
_PYTHON = "/usr/bin/python3"
_SYS_LANDLOCK_CREATE_RULESET, _VERSION_FLAG = 444, 1
_SYS_KEYCTL, _KEYCTL_JOIN_SESSION_KEYRING = 250, 1
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Boundary:
    """An open sandbox around a command.

    ``options()`` goes to ``subprocess.Popen``, and ``enter`` must be called by its preexec_fn.

    Attributes:
        words: beginning of the command line, up to the launcher's ``--``.
        descriptors: file descriptors that bubblewrap reads.
        limits: the limits on its use of the machine.
        identity: the user that it runs as, None for the user that starts it.
        group: its control group, None where none can be created.
        gives_up_root: whether the process starts as ``identity``. Otherwise the command switches to
            it.
    """

    words: tuple[str, ...]
    descriptors: tuple[int, ...]
    limits: Limits
    identity: Identity | None
    group: ControlGroup | None
    gives_up_root: bool = True

    @property
    def uid(self) -> int:
        """The user that owns what the sandbox writes."""
        return os.geteuid() if self.identity is None else self.identity.number

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the whole command line that runs ``words`` inside."""
        return [*self.words, *words]

    def options(self) -> dict[str, Any]:
        """Return the arguments of Popen that set the process's user and descriptors."""
        options: dict[str, Any] = {"pass_fds": self.descriptors}
        if self.identity is not None and self.gives_up_root:
            number = self.identity.number
            options |= {"user": number, "group": number, "extra_groups": []}
        return options

    def enter(self) -> None:
        """Prepare the forked child, which runs as the sandbox's user already, for bubblewrap."""
        if self.group is not None:
            os.write(self.group.entrance, b"0")
        # A change of user clears the death signal, so both calls come after it.
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        _libc.syscall(_SYS_KEYCTL, _KEYCTL_JOIN_SESSION_KEYRING, None)

    def explain(self) -> str:
        """Return the exceeded limits, or else all limits, for the error message of an early end."""
        hit = self.group.exceeded() if self.group else []
        if hit:
            return f"it exceeded its limit of {' and '.join(hit)}"
        return f"its limits: {self.limits}"


@contextlib.contextmanager
def open_boundary(
    prefix: Sequence[str],
    bubblewrap: Sequence[str],
    limits: Limits,
    identity: Identity | None,
    writable: Sequence[str],
    files: Mapping[str, bytes],
    fixed_addresses: bool,
    own_filters: bool = False,
) -> Iterator[Boundary]:
    """Open a sandbox with the view of the command line ``bubblewrap``.

    Args:
        prefix: words that mount files and give up root, see ``access``; may be empty.
        bubblewrap: the command line so far, without ``--``.
        limits: the limits on its use of the machine.
        identity: the user that it runs as, or None.
        writable: the folders inside that may be changed.
        files: read-only files to add, by their paths inside.
        fixed_addresses: whether the address layout is not randomised.
        own_filters: whether processes may add filters of system calls, see ``syscalls``.
    """
    with contextlib.ExitStack() as stack:
        words = list(bubblewrap)
        descriptors: list[int] = []
        source = Path(launcher.__file__).read_bytes()
        for place, content in {**files, LAUNCHER: source}.items():
            descriptors.append(stack.enter_context(_readable(content)))
            words += ["--perms", "0644", "--ro-bind-data", str(descriptors[-1]), place]
        descriptors.append(stack.enter_context(_readable(syscalls.program(own_filters))))
        words += ["--remount-ro", "/", "--seccomp", str(descriptors[-1]), "--"]
        words += [_PYTHON, "-I", "-S", "-B", LAUNCHER]
        numbers = {
            "as": limits.address_bytes,
            "nproc": limits.processes,
            "fsize": limits.file_bytes,
            "nofile": limits.open_files,
            "core": 0,
            "landlock": landlock_version(),
            "fixed": int(fixed_addresses),
        }
        words += [f"{key}={value}" for key, value in numbers.items()]
        words += [f"write={folder}" for folder in writable]
        group = stack.enter_context(cgroup.create(limits))
        whole = (*prefix, *words, "--")
        yield Boundary(whole, tuple(descriptors), limits, identity, group, not prefix)


def landlock_version() -> int:
    """Return the kernel's version of Landlock, 0 when it is missing or switched off."""
    version: int = _libc.syscall(_SYS_LANDLOCK_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return max(version, 0)


@contextlib.contextmanager
def _readable(content: bytes) -> Iterator[int]:
    """Yield a descriptor from which the content can be read once."""
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
