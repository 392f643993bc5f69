"""The sandbox of the guest, and of builds of users' modules.

User Mode Linux is a process of the host. Root in the guest can remount, mount the host's files or
load a module, which is native code. So the guest itself confines nothing. These layers confine it,
from the outside in:

1. a separate user, when root starts it (``identity``);
2. a control group, where one can be created (``cgroup``);
3. bubblewrap: namespaces, no capabilities, and a small view of the host (``view``);
4. a filter of system calls (``syscalls``);
5. limits on each process, and Landlock where the kernel supports it (``launcher``).

Paths inside do not depend on the project's folder, so results do not either. SECURITY.md says
what the sandbox guarantees and how that is tested.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.sandbox import access, boundary, cgroup, identity, syscalls, trial, view
from orchestrator.sandbox import limits as limited
from orchestrator.sandbox.access import ReachablePaths
from orchestrator.sandbox.boundary import Boundary, open_boundary
from orchestrator.sandbox.identity import Identity
from orchestrator.sandbox.limits import MIB, Limits

KERNEL, BED, MODULES, INPUT, OUTPUT = (
    "/bed/linux",
    "/bed/code",
    "/bed/modules",
    "/bed/in",
    "/bed/out",
)
COPIES = "copies"
_BESIDE_MEMORY_BYTES = 16 * MIB
"""Room in /dev/shm for small files beside the guest's memory."""


@dataclass(frozen=True)
class SandboxPaths:
    """Host paths of the guest's files; the guest writes only ``output``.

    ``bed`` are the parts of the package ``orchestrator`` that go into the guest.
    The parent folders of ``input`` and ``output`` must belong to the controller.
    """

    linux: Path
    bed: tuple[Path, ...]
    modules: Path
    input: Path
    output: Path


@contextlib.contextmanager
def guest_sandbox(
    paths: SandboxPaths,
    memory_bytes: int,
    limits: Limits | None = None,
    terminal: bool = False,
    fixed_addresses: bool = True,
    own_filters: bool = False,
) -> Iterator[Boundary]:
    """Open a sandbox for a guest with that memory, which is a file in its /dev/shm.

    With ``terminal`` the guest keeps the terminal that it is started from. ``own_filters`` lets its
    processes filter their own system calls, too.

    Raises:
        MachineError: this machine lacks something that the sandbox needs.
    """
    limited.require_file_size(memory_bytes)
    limited.require_open_files()
    with identity.allocate() as user:
        granted = _guest_access(paths, user)
        words = view.base_command(new_session=not terminal)
        for folder in ("/home", "/root", "/run", "/sys", "/var", "/mnt"):
            words += ["--dir", folder]
        words += ["--ro-bind", str(granted.paths[paths.linux]), KERNEL]
        for part in paths.bed:
            words += ["--ro-bind", str(granted.paths[part]), f"{BED}/orchestrator/{part.name}"]
        words += ["--ro-bind", str(granted.paths[paths.modules]), MODULES]
        words += ["--ro-bind", str(granted.paths[paths.input]), INPUT]
        words += ["--bind", str(granted.paths[paths.output]), OUTPUT]
        words += view.tmpfs("/dev/shm", memory_bytes + _BESIDE_MEMORY_BYTES)
        words += [*view.tmpfs("/tmp"), "--chdir", "/tmp"]
        with open_boundary(
            granted.prefix,
            words,
            limits or limited.of_guest(memory_bytes),
            user,
            writable=(OUTPUT, "/dev", "/dev/shm", "/tmp"),
            files=view.SYNTHETIC_FILES,
            fixed_addresses=fixed_addresses,
            own_filters=own_filters,
        ) as opened:
            yield opened


@contextlib.contextmanager
def build_sandbox(tree: Path, workshop: Path) -> Iterator[Boundary]:
    """Open a sandbox for a build whose rules a user wrote.

    It reads the kernel's ``tree`` and writes the folder ``workshop``, both at their host paths, and
    sees nothing else. All other changes that a build makes are discarded. The parent folder of
    ``workshop`` must belong to the controller.

    Raises:
        MachineError: this machine lacks something that the sandbox needs.
    """
    with identity.allocate() as user:
        passable = True
        if user is not None:
            passable = user.grant_passage(workshop.parent)
            user.give_ownership(workshop)
        granted = access.provide_access(
            [tree], [workshop], passable, user, workshop.parent / COPIES
        )
        words = [*view.base_command(), *view.tmpfs("/tmp", 256 * MIB)]
        words += ["--ro-bind", str(granted.paths[tree]), str(tree)]
        words += ["--bind", str(granted.paths[workshop]), str(workshop)]
        with open_boundary(
            granted.prefix,
            [*words, "--chdir", str(workshop)],
            limited.of_build(),
            user,
            writable=(str(workshop), "/dev", "/tmp"),
            files=view.SYNTHETIC_FILES,
            fixed_addresses=False,
        ) as opened:
            yield opened


def _guest_access(paths: SandboxPaths, user: Identity | None) -> ReachablePaths:
    """Make all paths accessible to the sandbox's user, and the output writable."""
    run = paths.output.parent
    ours = [path for path in (paths.input, paths.output) if path.parent == run]
    readable = [paths.linux, *paths.bed, paths.modules, paths.input]
    readable = [path for path in readable if path not in ours]
    if user is None:
        return access.provide_access(readable, ours, True, user, run / COPIES)
    passable = user.grant_passage(run)
    user.give_ownership(paths.output)
    if paths.input in ours:
        user.grant_read(paths.input)
    return access.provide_access(readable, ours, passable, user, run / COPIES)


def describe_confinement() -> str:
    """Return the layers that confine a guest of this user on this machine, and those missing."""
    layers = ["bubblewrap", "system calls filtered"]
    if os.geteuid() == 0:
        layers.append("a separate user")
    version = boundary.landlock_version()
    layers.append(f"Landlock {version}" if version else "no Landlock in this kernel")
    if cgroup.parent() is not None:
        layers.append("limits on memory and processes of the whole sandbox")
    else:
        layers.append("limits on each process only: no control group of version 2 is delegated")
    return ", ".join(layers)


def require_confinement() -> None:
    """Raise MachineError, with the fix, unless this user can be confined here.

    A trial that ``trial.begun()`` has begun answers once. Any other call tries anew.
    """
    if shutil.which("bwrap") is None:
        raise MachineError(
            "bubblewrap is not installed: the guest cannot be confined",
            "apt-get install bubblewrap" + trial.OR_UNCONFINED,
        )
    syscalls.program()
    with trial.current() as tried:
        tried.require()
