"""The guest kernel with a shell, in real time: on this terminal, or for commands from a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from guest.build import GuestKernel
from orchestrator import sandbox
from orchestrator.backends.process import last_lines
from orchestrator.errors import GuestError

_MEMORY_BYTES = 512 * 2**20
_INIT = """
import glob, os, subprocess, sys
sys.path.insert(0, os.environ["BED_CODE"])
from testbed import system

# Before any program runs: where root's files show as nobody's, a setuid mount loses root.
system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")):
    system.mount(kind, place, kind)
os.makedirs("/run/out")
system.mount("none", "/run/out", "hostfs", 0, os.environ["BED_OUTPUT"])
os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/run")
# Twice, for the few that need another one's symbols.
for path in 2 * sorted(glob.glob(os.environ["BED_MODULES"] + "/tcp_*.ko")):
    try:
        system.load_module(path, "")
    except OSError:
        pass
commands = os.environ["BED_INPUT"] + "/commands"
if os.path.exists(commands):
    with open("/run/out/said", "wb") as said:
        status = subprocess.call(
            ["sh", commands], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        )
    with open("/run/out/status", "w") as file:
        file.write(str(status))
else:
    print(f"guest kernel {os.uname().release}; the root is read-only, /tmp and /run are yours;"
          " exit powers off", flush=True)
    terminal = os.open("/dev/tty0", os.O_RDWR)
    words = ["setsid", "-c", "-w", "bash", "--norc"]
    subprocess.call(words, stdin=terminal, stdout=terminal, stderr=terminal)
system.power_off()
"""


def open_shell(kernel: GuestKernel) -> int:
    """Boot the guest, return the status of what ran in it when that ends.

    On a terminal that is an interactive shell; from a pipe or file on standard input, its
    commands, whose output goes to standard output.

    Raises:
        MachineError: this user cannot be confined here.
        GuestError: the guest did not end well.
    """
    if not os.isatty(0):
        said = run_commands(kernel, sys.stdin.buffer.read())
        sys.stdout.buffer.write(said.output)
        sys.stdout.flush()
        return said.status
    with _folders() as (given, output):
        ended = _boot(kernel, given, output, interactive=True)
    if ended.returncode:
        raise GuestError(f"the guest ended with status {ended.returncode}")
    return 0


@dataclass(frozen=True)
class Said:
    """What commands in the guest ended with and said, on either stream."""

    status: int
    output: bytes


def run_commands(
    kernel: GuestKernel,
    commands: bytes,
    files: Mapping[str, bytes] | None = None,
    timeout_s: float | None = None,
) -> Said:
    """Boot the guest and run shell commands in it, with ``files`` by their names in /bed/in.

    Raises:
        MachineError: this user cannot be confined here.
        GuestError: the guest ended before the commands did, or did not end within ``timeout_s``.
    """
    with _folders() as (given, output):
        for name, content in {**(files or {}), "commands": commands}.items():
            (given / name).write_bytes(content)
        try:
            ended = _boot(kernel, given, output, interactive=False, timeout_s=timeout_s)
        except subprocess.TimeoutExpired as late:
            lines = last_lines((late.stdout or b"").decode(errors="replace"))
            raise GuestError(f"the guest did not end within {timeout_s:g} s", lines) from None
        status = output / "status"
        if not status.exists():
            lines = last_lines(ended.stdout.decode(errors="replace"))
            raise GuestError("the guest ended before the commands did", lines)
        return Said(int(status.read_text(encoding="ascii")), (output / "said").read_bytes())


@contextlib.contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    """Yield the folder that the guest reads and the one that it writes."""
    sandbox.require_confinement()
    with tempfile.TemporaryDirectory(prefix="orchestrator-shell-") as name:
        given, output = Path(name) / "in", Path(name) / "out"
        given.mkdir()
        output.mkdir()
        (given / "init.py").write_text(_INIT, encoding="utf-8")
        yield given, output


def _boot(
    kernel: GuestKernel,
    given: Path,
    output: Path,
    interactive: bool,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    testbed = Path(__file__).resolve().parent.parent / "testbed"
    paths = sandbox.Paths(kernel.linux, testbed, kernel.modules_dir, given, output)
    with sandbox.around_guest(
        paths, _MEMORY_BYTES, terminal=interactive, fixed_addresses=False
    ) as boundary:
        return subprocess.run(
            boundary.command(_command(interactive)),
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "TMPDIR": "/dev/shm",
                "TERM": os.environ.get("TERM", "dumb"),
            },
            cwd="/",
            check=False,
            timeout=timeout_s,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=None if interactive else subprocess.PIPE,
            stderr=None if interactive else subprocess.STDOUT,
            preexec_fn=boundary.enter,
            **boundary.options(),
        )


def _command(interactive: bool) -> list[str]:
    console = "con0=fd:0,fd:1" if interactive else "con0=null,fd:1"
    return [
        sandbox.KERNEL,
        f"mem={_MEMORY_BYTES // 2**20}M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "con=null",
        console,
        "uml_dir=/tmp/",
        f"BED_CODE={sandbox.BED}",
        f"BED_MODULES={sandbox.MODULES}",
        f"BED_INPUT={sandbox.INPUT}",
        f"BED_OUTPUT={sandbox.OUTPUT}",
        "PS1=guest# ",
        "init=/usr/bin/python3",
        "--",
        "-S",
        "-B",
        f"{sandbox.INPUT}/init.py",
    ]
