"""What a sandbox sees of the host, as words of bubblewrap's command line.

The system's own folders, read-only; of ``/etc`` a few files that programs need, and accounts that
are made up; of ``/proc`` no more than containers show; no homes, no network, no other process.
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
"""What programs of the guest and of a build read there, and no secret can be in."""

MADE_UP = {
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
"""Below /proc: what they show read-only. Writing it needs no capability, only root's number."""

RUN_VARIABLE = "ORCHESTRATOR_RUN"
"""In the environment of bubblewrap, but not inside: the folder of the run that it is for, so that
whoever looks at a process of another user knows where it belongs."""

_SMALL_BYTES = 16 * MIB
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def alone(new_session: bool = True) -> list[str]:
    """Return the beginning of a command line: nothing of the host but its system folders.

    Without a ``new_session`` the sandbox keeps the terminal that it is started from.
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


def marked(run: Path) -> dict[str, str]:
    """Return what is added to bubblewrap's environment to tell which run it is for."""
    return {RUN_VARIABLE: str(run)}


def temporary(folder: str, size_bytes: int = _SMALL_BYTES) -> list[str]:
    """Return how a sandbox gets a folder in memory that holds no more than that."""
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
    """Return how the sandbox gets a folder that Debian makes a link into /usr."""
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.is_dir() else []


@functools.cache
def _options() -> frozenset[str]:
    """Return the options that the installed bubblewrap knows; none where it does not run."""
    try:
        told = subprocess.run(
            ["bwrap", "--help"], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(word for word in told.stdout.split() if word.startswith("--"))
