"""Boots the guest kernel with a shell, in real time: on this terminal, or for piped commands."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from guest.build import GuestKernel
from orchestrator import sandbox
from orchestrator.backends import bed_code, process
from orchestrator.compile.bounds import MIB, Bounds
from orchestrator.decode.output import OutputFolder, console_text
from orchestrator.errors import GuestError
from orchestrator.files.temporary import temporary_folder
from orchestrator.sandbox.boundary import Boundary

_MEMORY_BYTES = 512 * MIB
_STATUS_BYTES = 8
_BOUNDS = Bounds(file_bytes={"said": 256 * MIB, "status": _STATUS_BYTES})
_INIT = """
import glob, os, subprocess, sys
sys.path.insert(0, os.environ["BED_CODE"])
from orchestrator.testbed.kernel import system

# Before any program runs: where root's files belong to nobody, a setuid mount loses root.
system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")):
    system.mount(kind, place, kind)
os.makedirs("/run/out")
system.mount("none", "/run/out", "hostfs", 0, os.environ["BED_OUTPUT"])
os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/run")
# Twice, because a few modules need the symbols of another one.
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
    """Boot the guest, run a shell in it, and return the shell's exit status.

    On a terminal the shell is interactive. Otherwise it runs the commands on standard input, and
    their output goes to standard output.

    Raises:
        MachineError: this user cannot be confined here.
        GuestError: the guest did not end well.
    """
    if not os.isatty(0):
        result = run_commands(kernel, sys.stdin.buffer.read())
        sys.stdout.buffer.write(result.output)
        sys.stdout.flush()
        return result.status
    with (
        _folders() as (input_folder, output),
        _boundary(kernel, input_folder, output, interactive=True) as boundary,
    ):
        ended = subprocess.run(
            boundary.command(_command(interactive=True)),
            env=_environment(),
            cwd="/",
            check=False,
            preexec_fn=boundary.enter,
            **boundary.options(),
        )
    if ended.returncode:
        raise GuestError(f"the guest ended with status {ended.returncode}")
    return 0


@dataclass(frozen=True)
class CommandResult:
    """Exit status of commands in the guest, and their output on both streams."""

    status: int
    output: bytes


def run_commands(
    kernel: GuestKernel,
    commands: bytes,
    files: Mapping[str, bytes] | None = None,
    timeout_s: float | None = None,
) -> CommandResult:
    """Boot the guest and run shell commands in it, with ``files`` by their names in /bed/in.

    Raises:
        MachineError: this user cannot be confined here.
        BedError: its output folder holds invalid files, or too much.
        GuestError: the guest ended before the commands did, or did not end within ``timeout_s``.
    """
    with _folders() as (input_folder, output):
        for name, content in {**(files or {}), "commands": commands}.items():
            (input_folder / name).write_bytes(content)
        console = output.parent / "console"
        read = OutputFolder(output, _BOUNDS)
        with _boundary(kernel, input_folder, output, interactive=False) as boundary:
            read.owner_uid = boundary.uid
            with (
                console.open("wb") as console_file,
                process.started(
                    boundary.command(_command(interactive=False)),
                    console_file,
                    _environment(),
                    os.sched_getaffinity(0),
                    boundary=boundary,
                ) as started,
            ):
                if not process.ends_within(timeout_s, started, read, console):
                    lines = process.last_lines(console_text(console))
                    raise GuestError(f"the guest did not end within {timeout_s:g} s", lines)
        status = read.start("status", _STATUS_BYTES)
        answer = read.opened("said")
        if status is None or not status.isdigit() or answer is None:
            lines = process.last_lines(console_text(console))
            raise GuestError("the guest ended before the commands did", lines)
        return CommandResult(int(status), answer.whole())


@contextlib.contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    """Yield the folder that the guest reads and the folder that it writes."""
    sandbox.require_confinement()
    with temporary_folder("shell") as folder:
        input_folder, output = folder / "in", folder / "out"
        input_folder.mkdir()
        output.mkdir()
        (input_folder / "init.py").write_text(_INIT, encoding="utf-8")
        yield input_folder, output


def _boundary(
    kernel: GuestKernel, input_folder: Path, output: Path, interactive: bool
) -> contextlib.AbstractContextManager[Boundary]:
    paths = sandbox.SandboxPaths(
        kernel.linux, bed_code.PARTS, kernel.modules_dir, input_folder, output
    )
    return sandbox.guest_sandbox(paths, _MEMORY_BYTES, terminal=interactive, fixed_addresses=False)


def _environment() -> dict[str, str]:
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "TMPDIR": "/dev/shm",
        "TERM": os.environ.get("TERM", "dumb"),
    }


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
