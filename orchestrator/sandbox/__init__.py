"""The boundary around the guest, and around builds of users' modules.

User Mode Linux is a process of the host. Root inside it may remount, mount the host's files anew
or load a module, which is native code, so the guest itself bounds nothing. What bounds it, from
the outside in:

1. a user of its own, where root starts it (``identity``);
2. a control group, where one can be made (``cgroup``);
3. bubblewrap: namespaces, no capabilities, and a view of the host that shows little (``view``);
4. a filter of system calls (``syscalls``);
5. limits on each process, and Landlock where the kernel has it (``launcher``).

Paths inside are the same wherever the project lies, so they cannot reach a result. SECURITY.md
says what is promised and how it is tested.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.sandbox import boundary, cgroup, identity, reach, syscalls, view
from orchestrator.sandbox import limits as limited
from orchestrator.sandbox.boundary import Boundary, opened
from orchestrator.sandbox.identity import Identity
from orchestrator.sandbox.limits import MIB, Limits
from orchestrator.sandbox.reach import Reach

KERNEL, BED, MODULES, INPUT, OUTPUT = (
    "/bed/linux",
    "/bed/code",
    "/bed/modules",
    "/bed/in",
    "/bed/out",
)
COPIES = "copies"
_BESIDE_MEMORY_BYTES = 16 * MIB
"""In /dev/shm beside the guest's memory: what else may lie there is small."""
_TRY_TIMEOUT_S = 20


@dataclass(frozen=True)
class Paths:
    """Where the guest's parts lie on the host. ``output`` is the one that it writes.

    ``bed`` are the parts of the package ``orchestrator`` that go into the guest.
    The folders that hold ``input`` and ``output`` must be the controller's own.
    """

    linux: Path
    bed: tuple[Path, ...]
    modules: Path
    input: Path
    output: Path


@contextlib.contextmanager
def around_guest(
    paths: Paths,
    memory_bytes: int,
    limits: Limits | None = None,
    terminal: bool = False,
    fixed_addresses: bool = True,
) -> Iterator[Boundary]:
    """Open a sandbox for a guest with that memory, which is a file in its /dev/shm.

    With ``terminal`` the guest keeps the terminal that it is started from.

    Raises:
        MachineError: something that the boundary needs is missing.
    """
    with identity.lent() as own:
        found = _handed_over(paths, own)
        words = view.alone(new_session=not terminal)
        for folder in ("/home", "/root", "/run", "/sys", "/var", "/mnt"):
            words += ["--dir", folder]
        words += ["--ro-bind", str(found.at[paths.linux]), KERNEL]
        for part in paths.bed:
            words += ["--ro-bind", str(found.at[part]), f"{BED}/orchestrator/{part.name}"]
        words += ["--ro-bind", str(found.at[paths.modules]), MODULES]
        words += ["--ro-bind", str(found.at[paths.input]), INPUT]
        words += ["--bind", str(found.at[paths.output]), OUTPUT]
        words += view.temporary("/dev/shm", memory_bytes + _BESIDE_MEMORY_BYTES)
        words += [*view.temporary("/tmp"), "--chdir", "/tmp"]
        with opened(
            found.words,
            words,
            limits or limited.of_guest(memory_bytes),
            own,
            writable=(OUTPUT, "/dev", "/dev/shm", "/tmp"),
            files=view.MADE_UP,
            fixed_addresses=fixed_addresses,
        ) as around:
            yield around


@contextlib.contextmanager
def around_build(tree: Path, workshop: Path) -> Iterator[Boundary]:
    """Open a sandbox for a build by rules that are not ours.

    It reads the kernel's ``tree``, writes the folder ``workshop``, both at their own paths, and has
    nothing else: what it does beyond building is gone with it. The folder that holds ``workshop``
    must be the controller's own.

    Raises:
        MachineError: something that the boundary needs is missing.
    """
    with identity.lent() as own:
        way = True
        if own is not None:
            way = own.let_pass(workshop.parent)
            own.own(workshop)
        at = reach.to([tree], [workshop], way, own, workshop.parent / COPIES)
        words = [*view.alone(), *view.temporary("/tmp", 256 * MIB)]
        words += ["--ro-bind", str(at.at[tree]), str(tree)]
        words += ["--bind", str(at.at[workshop]), str(workshop)]
        with opened(
            at.words,
            [*words, "--chdir", str(workshop)],
            limited.of_build(),
            own,
            writable=(str(workshop), "/dev", "/tmp"),
            files=view.MADE_UP,
            fixed_addresses=False,
        ) as around:
            yield around


def _handed_over(paths: Paths, own: Identity | None) -> Reach:
    """Give the output to the sandbox's user, and let it reach all that it is shown."""
    run = paths.output.parent
    ours = [path for path in (paths.input, paths.output) if path.parent == run]
    readable = [paths.linux, *paths.bed, paths.modules, paths.input]
    readable = [path for path in readable if path not in ours]
    if own is None:
        return reach.to(readable, ours, True, own, run / COPIES)
    way = own.let_pass(run)
    own.own(paths.output)
    if paths.input in ours:
        own.let_read(paths.input)
    return reach.to(readable, ours, way, own, run / COPIES)


def described() -> str:
    """Return in words what confines a guest of this user on this machine, and what is missing."""
    layers = ["bubblewrap", "system calls filtered"]
    if os.geteuid() == 0:
        layers.append("a user of its own")
    version = boundary.landlock_version()
    layers.append(f"Landlock {version}" if version else "no Landlock in this kernel")
    if cgroup.parent() is not None:
        layers.append("memory and processes bounded in all")
    else:
        layers.append("bounds for each process only: no control group of version 2 is delegated")
    return ", ".join(layers)


def require_confinement() -> None:
    """Raise MachineError, with the fix, unless this user can be confined here."""
    fix = "; or run with --unconfined, which is recorded with the run"
    if shutil.which("bwrap") is None:
        raise MachineError(
            "bubblewrap is not installed: the guest cannot be confined",
            "apt-get install bubblewrap" + fix,
        )
    syscalls.program()
    try:
        with (
            identity.lent() as own,
            opened((), view.alone(), limited.of_build(), own, ("/dev",), {}, False) as around,
        ):
            tried = subprocess.run(
                around.command(["/bin/true"]),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_TRY_TIMEOUT_S,
                cwd="/",
                preexec_fn=around.enter,
                **around.options(),
            )
    except subprocess.TimeoutExpired:
        raise MachineError("bubblewrap does not answer", "look at `bwrap true`" + fix) from None
    if tried.returncode:
        said = tried.stderr.strip() or f"exit status {tried.returncode}"
        raise MachineError(
            f"bubblewrap cannot confine the guest: {said}",
            "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000" + fix,
        )
