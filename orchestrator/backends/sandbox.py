"""The boundary around the guest, and around builds of users' modules: bubblewrap, without root.

User Mode Linux is a process of the host. Root inside it may remount, mount the host's files anew
or load a module, which is native code, so the guest itself bounds nothing. Here it sees the
system's own folders read-only, no homes, no network, no other process, and one writable folder.
Paths inside are the same wherever the project lies, so they cannot reach a result.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import MachineError

KERNEL, BED, MODULES, INPUT, OUTPUT = (
    "/bed/linux",
    "/bed/code",
    "/bed/modules",
    "/bed/in",
    "/bed/out",
)
_SPARE_BYTES = 2**24
"""Beside the guest's memory: what else may lie there is small."""
_TRY_TIMEOUT_S = 20


@dataclass(frozen=True)
class Paths:
    """Where the guest's parts lie on the host."""

    linux: Path
    bed: Path
    modules: Path
    input: Path
    output: Path


def confined(paths: Paths, memory_bytes: int) -> list[str]:
    """Return the bubblewrap command line in front of the guest's own.

    The guest's memory of that size is a file in /dev/shm, which by default has half the machine's.
    """
    words = _alone()
    for folder in ("/home", "/root", "/run", "/sys", "/var", "/mnt"):
        words += ["--dir", folder]
    words += ["--ro-bind", str(paths.linux), KERNEL]
    words += ["--ro-bind", str(paths.bed), f"{BED}/testbed"]
    words += ["--ro-bind", str(paths.modules), MODULES]
    words += ["--ro-bind", str(paths.input), INPUT]
    words += ["--bind", str(paths.output), OUTPUT]
    words += ["--dev", "/dev", "--proc", "/proc"]
    words += ["--size", str(memory_bytes + _SPARE_BYTES), "--tmpfs", "/dev/shm", "--tmpfs", "/tmp"]
    return [*words, "--remount-ro", "/", "--chdir", "/tmp", "--"]


def confined_build(tree: Path, workshop: Path) -> list[str]:
    """Return the bubblewrap command line in front of a build by rules that are not ours.

    It reads the kernel's ``tree``, writes the folder ``workshop`` and has nothing else: what it
    does beyond building is gone with it.
    """
    words = [*_alone(), "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    words += ["--ro-bind", str(tree), str(tree), "--bind", str(workshop), str(workshop)]
    return [*words, "--remount-ro", "/", "--chdir", str(workshop), "--"]


def _alone() -> list[str]:
    """Return the beginning of either: no network, no other process, the system read-only."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        words += _system_folder(Path(folder))
    return words


def _system_folder(folder: Path) -> list[str]:
    """Return how the sandbox gets a folder that Debian makes a link into /usr."""
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.is_dir() else []


def require_confinement() -> None:
    """Raise MachineError, with the mend, unless this user can be confined here."""
    mend = "; or run with --unconfined, which is recorded with the run"
    if shutil.which("bwrap") is None:
        raise MachineError(
            "bubblewrap is not installed: the guest cannot be confined",
            "apt-get install bubblewrap" + mend,
        )
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    try:
        tried = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_TRY_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise MachineError("bubblewrap does not answer", "look at `bwrap true`" + mend) from None
    if tried.returncode:
        said = tried.stderr.strip() or f"exit status {tried.returncode}"
        raise MachineError(
            f"bubblewrap cannot confine the guest: {said}",
            "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000" + mend,
        )
