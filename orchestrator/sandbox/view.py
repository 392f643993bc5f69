"""Builds the part of bubblewrap's command line that decides what a sandbox sees of the host.

It sees the system's folders, read-only. It sees a few files of ``/etc`` with invented accounts, and
no more of ``/proc`` than a container does. It sees no homes, no network and no other process.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from orchestrator.sandbox.limits import MIB

ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "protocols",
    "python3",
    "services",
    "terminfo",
)
"""Files of /etc that programs of the guest and of a build read, and that hold no secrets."""

SYNTHETIC_FILES = {
    "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "/etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
}

MASKED = (
    "acpi", "asound", "kcore", "key-users", "keys", "kmsg", "latency_stats", "sched_debug", "scsi",
    "timer_list", "timer_stats",
)  # fmt: skip
"""Below /proc: what container runtimes hide (runtime-spec, config-linux.md, "Masked Paths")."""

READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Below /proc: what they show read-only. Writing it needs only user id 0, no capability."""

RUN_VARIABLE = "ORCHESTRATOR_RUN"
"""Variable with the folder of a run, in the environment of bubblewrap and not inside.

It identifies the run of a process of a sandbox's user.
"""

_SMALL_BYTES = 16 * MIB
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def base_command(new_session: bool = True) -> list[str]:
    """Return the beginning of a command line that shows only the host's system folders.

    Without ``new_session`` the sandbox keeps the terminal that it is started from.
    """
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--hostname", "sandbox", "--unsetenv", RUN_VARIABLE]
    if "--disable-userns" in _options():
        words += ["--unshare-user", "--disable-userns"]
    if new_session:
        words.append("--new-session")
    words += ["--ro-bind", "/usr", "/usr"]
    for folder in _SYSTEM:
        words += _system_folder(Path(folder))
    for folder_inside in ("/etc", "/bed"):
        words += ["--perms", "0755", "--dir", folder_inside]
    for name in ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return [*words, *_processes(), "--dev", "/dev", "--remount-ro", "/dev"]


def run_environment(run: Path) -> dict[str, str]:
    """Return the environment variable that tells which run a bubblewrap process belongs to."""
    return {RUN_VARIABLE: str(run)}


def tmpfs(folder: str, size_bytes: int = _SMALL_BYTES) -> list[str]:
    """Return the options for a folder in memory with a limit on its size."""
    return ["--size", str(size_bytes), "--tmpfs", folder]


def _processes() -> list[str]:
    words = ["--proc", "/proc"]
    for name in READ_ONLY:
        words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in MASKED:
        path = Path("/proc") / name
        if path.is_dir():
            words += ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
        elif path.exists():
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def _system_folder(folder: Path) -> list[str]:
    """Return the options for a folder that may be a link into /usr, as on Debian."""
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.is_dir() else []


@functools.cache
def _options() -> frozenset[str]:
    """Return the options of the installed bubblewrap; empty when it does not run."""
    try:
        answer = subprocess.run(
            ["bwrap", "--help"], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(word for word in answer.stdout.split() if word.startswith("--"))
