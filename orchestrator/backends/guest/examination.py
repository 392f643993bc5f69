"""Checks what this machine lacks for runs in the guest, and names each fix.

Where possible, a check does what a run would do. For example, bubblewrap confines a process, and
the Python that will run Mininet imports it.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from guest import build, cache, source
from orchestrator import sandbox
from orchestrator.backends.contract import Examination, Finding
from orchestrator.backends.guest.shell import run_commands
from orchestrator.errors import GuestError, MachineError
from orchestrator.protocol import engines

SYSTEM_PYTHON = "/usr/bin/python3"
"""The Python that runs the test bed inside the guest; Mininet is installed for it."""

GUEST_PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
}
"""Debian package of each program that runs inside the guest, except those of traffic engines."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROBE_TIMEOUT_S = 20.0
BOOT_TIMEOUT_S = 60.0
GUEST_MEMORY_BYTES = 512 * 1024**2
"""Memory that a guest with 60 hosts uses at most."""


def examine() -> Examination:
    """Return what this machine lacks for a run in the guest."""
    confinement = _confinement()
    findings = [
        _processor(),
        *_kernel(),
        *_programs(),
        _mininet(),
        confinement,
        # A confined guest gets its own /dev/shm, so this machine's matters only without
        # confinement.
        *([] if confinement.ok else [_shared_memory(Path("/dev/shm"))]),
        _memory(),
        _ptrace(),
    ]
    if all(finding.ok for finding in findings):
        findings += _boots()
    return Examination(findings, _guest_absent())


def _guest_absent() -> str:
    """Return why no guest kernel can exist on this machine, empty when one can."""
    try:
        if build.find() is None:
            source.locate()
    except MachineError as error:
        return str(error).partition("\n")[0]
    return ""


def _processor() -> Finding:
    machine = f"{platform.system()} {platform.machine()}"
    ok = machine == "Linux x86_64"
    return Finding("processor", ok, machine, "" if ok else "use x86-64 Linux, or a virtual machine")


def _kernel() -> Iterator[Finding]:
    """Check for a cached guest kernel, or else for everything that building one needs."""
    name = "guest kernel"
    try:
        kernel = build.find()
    except MachineError as error:
        yield _finding(name, error)
        return
    if kernel is not None:
        yield Finding(name, True, f"Linux {kernel.release} in {kernel.linux.parent}")
        return
    try:
        build.require_machine()
    except MachineError as error:
        yield _finding(name, error)
    else:
        yield Finding(name, True, "not built yet; the first run builds it")
    own = cache.own_root()
    root = next(part for part in (own, *own.parents) if part.exists())
    free = shutil.disk_usage(root).free
    ok = free >= build.FREE_BYTES_NEEDED
    yield Finding(
        "room to build it",
        ok,
        f"{free / 1e9:.1f} GB free in {root}",
        ""
        if ok
        else f"make room for {build.FREE_BYTES_NEEDED / 1e9:.0f} GB, "
        f"or let {cache.CACHE_VARIABLE} name another folder",
    )


def _boots() -> Iterator[Finding]:
    """Check that a cached guest kernel boots to its first program on this processor."""
    kernel = build.find()
    if kernel is None:
        return
    try:
        run_commands(kernel, b"true\n", timeout_s=BOOT_TIMEOUT_S)
    except MachineError as error:
        yield _finding("guest boots", error)
    except GuestError as error:
        detail = " | ".join([str(error).partition("\n")[0], *error.console[-2:]])
        yield Finding(
            "guest boots", False, detail, "use another machine, and report this processor as a bug"
        )
    else:
        yield Finding("guest boots", True, "a program ran in it")


def _programs() -> Iterator[Finding]:
    for program, package in {**GUEST_PROGRAMS, **engines.packages()}.items():
        path = shutil.which(program, path=SYSTEM_PATH)
        fix = "" if path else f"apt-get install {package}"
        yield Finding(program, path is not None, path or "not found", fix)


def _mininet() -> Finding:
    trouble = _try([SYSTEM_PYTHON, "-c", "import mininet.net"])
    return Finding(
        "mininet",
        trouble is None,
        trouble or f"importable by {SYSTEM_PYTHON}",
        "apt-get install mininet" if trouble else "",
    )


def _confinement() -> Finding:
    name = "confinement"
    try:
        sandbox.require_confinement()
    except MachineError as error:
        return _finding(name, error)
    return Finding(name, True, sandbox.describe_confinement())


def _ptrace() -> Finding:
    """Check for ptrace, under which User Mode Linux runs its processes."""
    probe = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
    if _try([SYSTEM_PYTHON, "-S", "-c", probe]) is None:
        return Finding("ptrace", True, "allowed")
    fix = "sysctl -w kernel.yama.ptrace_scope=1 (in a container: --cap-add SYS_PTRACE)"
    return Finding("ptrace", False, "not allowed", fix)


def _memory() -> Finding:
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = 1024 * next(int(line.split()[1]) for line in lines if "MemAvailable:" in line)
    ok = available >= GUEST_MEMORY_BYTES
    fix = "" if ok else f"free memory: a guest can use {GUEST_MEMORY_BYTES / 1024**2:.0f} MiB"
    return Finding("memory", ok, f"{available / 1024**2:.0f} MiB available", fix)


def _shared_memory(folder: Path) -> Finding:
    """Check the file system for the guest's memory, a file that is also mapped for execution."""
    if not folder.is_dir():
        return Finding(str(folder), False, "not there", f"mount -t tmpfs tmpfs {folder}")
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    forbids_execution = bool(status.f_flag & os.ST_NOEXEC)
    options = ["exec"] if forbids_execution else []
    options += ["size=1G"] if free < GUEST_MEMORY_BYTES else []
    return Finding(
        str(folder),
        not options,
        f"{free / 1024**2:.0f} MiB free{', noexec' if forbids_execution else ''}",
        f"mount -o remount,{','.join(options)} {folder}" if options else "",
    )


def _finding(name: str, error: MachineError) -> Finding:
    return Finding(name, False, str(error).partition("\n")[0], error.fix)


def _try(argv: Sequence[str]) -> str | None:
    """Run a probe; return None when it succeeded, else its output in one line."""
    try:
        answer = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        return f"{argv[0]} not found"
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not answer within {PROBE_TIMEOUT_S:.0f} s"
    if answer.returncode == 0:
        return None
    error_lines = answer.stderr.strip().splitlines()
    return error_lines[-1] if error_lines else f"{argv[0]} ended with {answer.returncode}"
