"""Confines builds of kernels: each step runs in a sandbox of its own, with one user for all.

A step writes the kernel's tree and ccache's folder, and reads the folder of its inputs and the
system's programs. It sees no other file of this machine and no network.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from guest.cache import CACHE_VARIABLE
from guest.confinement import Room, Workshop
from guest.step_runner import run_step
from orchestrator import sandbox
from orchestrator.errors import KernelBuildError, MachineError
from orchestrator.files.temporary import bytes_on_disk
from orchestrator.sandbox import access, identity, limits, view
from orchestrator.sandbox.access import ReachablePaths
from orchestrator.sandbox.boundary import open_boundary
from orchestrator.sandbox.identity import Identity

TREE, INPUTS, COMPILED = "/bed/tree", "/bed/in", "/bed/compiled"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_TOOLS = ("gcc", "ld", "make")
_FIX = "see what its Makefiles do: a build of Linux stays below it"


@contextlib.contextmanager
def confined(workshop: Workshop) -> Iterator[Room]:
    """Open a sandbox for the steps of a build; see ``guest.confinement.Confine``.

    Raises:
        MachineError: this machine lacks something that the sandbox needs.
    """
    sandbox.require_confinement()
    _require_visible_tools()
    own = [workshop.tree, workshop.compiled]
    with identity.allocate() as user:
        if user is not None:
            _give(own, user.number)
            workshop.folder.chmod(0o711)
        try:
            granted = [*own, workshop.inputs]
            passable = all(access.is_passable(path.parent) for path in granted)
            copies = workshop.folder / sandbox.COPIES
            reached = access.provide_access([], granted, passable, user, copies)
            yield _Sandboxed(workshop, user, reached)
        finally:
            if user is not None:
                _give(own, os.geteuid())


@dataclass(frozen=True)
class _Sandboxed:
    """A room whose steps run as ``user``, in sandboxes that show the paths of ``reached``."""

    workshop: Workshop
    user: Identity | None
    reached: ReachablePaths

    def shown(self, path: Path) -> str:
        places = {
            self.workshop.tree: TREE,
            self.workshop.inputs: INPUTS,
            self.workshop.compiled: COMPILED,
        }
        folder = next(folder for folder in (path, *path.parents) if folder in places)
        return str(Path(places[folder]) / path.relative_to(folder))

    def run(
        self,
        argv: Sequence[str],
        each_line: Callable[[str], None],
        environment: Mapping[str, str],
    ) -> int:
        watch = _Watch(self.workshop)

        def take(line: str) -> None:
            watch.printed(len(line))
            each_line(line)

        held = () if self.workshop.lock is None else (self.workshop.lock,)
        with open_boundary(
            self.reached.prefix,
            self._words(),
            limits.of_kernel_build(len(os.sched_getaffinity(0))),
            self.user,
            writable=(TREE, COMPILED, "/dev", "/tmp"),
            files=view.SYNTHETIC_FILES,
            fixed_addresses=False,
        ) as opened:
            boundary = replace(opened, descriptors=(*opened.descriptors, *held))
            try:
                status = run_step(
                    boundary.command(argv),
                    take,
                    environment,
                    Path("/"),
                    timeout_s=limits.KERNEL_BUILD_TIME_S,
                    enter=boundary.enter,
                    options=boundary.options(),
                    watch=watch.written,
                )
            except TimeoutError:
                raise KernelBuildError(
                    f"a step of a kernel's build took more than {limits.KERNEL_BUILD_TIME_S:g} s",
                    _FIX,
                ) from None
            if status and boundary.group is not None and (hit := boundary.group.exceeded()):
                raise KernelBuildError(
                    f"a kernel's build exceeded its limit of {' and '.join(hit)}", _FIX
                )
        return status

    def _words(self) -> list[str]:
        """Return the beginning of bubblewrap's command line."""
        paths = self.reached.paths
        words = [*view.base_command(), *view.tmpfs("/tmp", limits.KERNEL_BUILD_TMP_BYTES)]
        words += ["--bind", str(paths[self.workshop.tree]), TREE]
        words += ["--ro-bind", str(paths[self.workshop.inputs]), INPUTS]
        words += ["--bind", str(paths[self.workshop.compiled]), COMPILED]
        if self.workshop.lock is not None:
            # bubblewrap itself keeps the lock, and not the program that it starts.
            words += ["--sync-fd", str(self.workshop.lock)]
        return [*words, "--chdir", TREE]


class _Watch:
    """Ends a step that prints or writes too much."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.printed_bytes = 0
        self.free_bytes = shutil.disk_usage(workshop.folder).free
        self.next_count_s = 0.0

    def printed(self, size_bytes: int) -> None:
        """Count what the step printed; KernelBuildError when it is too much."""
        self.printed_bytes += size_bytes
        if self.printed_bytes > limits.KERNEL_BUILD_PRINTED_BYTES:
            most = limits.KERNEL_BUILD_PRINTED_BYTES // limits.MIB
            raise KernelBuildError(f"a step of a kernel's build printed more than {most} MiB", _FIX)

    def written(self) -> None:
        """Look at the disk; KernelBuildError when the step has written too much.

        Files are counted only where the disk lost that much, as that takes a second.
        """
        free = shutil.disk_usage(self.workshop.folder).free
        most = limits.KERNEL_BUILD_BYTES
        if self.free_bytes - free < most and free > limits.KERNEL_BUILD_RESERVE_BYTES:
            return
        if free <= limits.KERNEL_BUILD_RESERVE_BYTES:
            raise MachineError(
                f"the disk of {self.workshop.folder} is full", "free some space there"
            )
        if time.monotonic() < self.next_count_s:
            return
        self.next_count_s = time.monotonic() + 60
        if bytes_on_disk(self.workshop.tree) + bytes_on_disk(self.workshop.compiled) > most:
            raise KernelBuildError(
                f"a kernel's build wrote more than {most // limits.MIB} MiB", _FIX
            )


def _give(folders: Sequence[Path], number: int) -> None:
    """Make a user and its group the owner of folders, of 90 000 files in a second."""
    for folder in folders:
        owner = f"{number}:{number}"
        command = ["chown", "--recursive", "--no-dereference", owner, "--", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MachineError(
                f"{folder} cannot be given to user {number}: {done.stderr.strip()}",
                f"let the cache be on a disk of this machine: set {CACHE_VARIABLE}",
            )


def _require_visible_tools() -> None:
    """Raise MachineError if PATH names a tool that a sandbox does not show."""
    for tool in _TOOLS:
        path = shutil.which(tool)
        if path is None or any(Path(path).resolve().is_relative_to(place) for place in _SYSTEM):
            continue
        raise MachineError(
            f"a confined build does not see {path}",
            f"let PATH name the folder of the system's {tool} first",
        )
