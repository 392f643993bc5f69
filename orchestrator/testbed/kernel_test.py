"""The first process of a guest that runs one test of a kernel's own, and powers off.

The kernel starts it as ``python3 -S -B -m orchestrator.testbed.kernel_test``. The boot line names
folders: BED_CODE, BED_MODULES, BED_INPUT (test.json, tests/, bin/), BED_TESTS, where the tests are
seen, and BED_OUTPUT. To that it writes ``said`` (what the test prints) and ``status`` ("exit STATUS
NANOSECONDS", or "late ..." where the test did not end within its limit of the guest's time).

The test runs as root of the guest. All folders that tests write to are in memory: the tests
themselves are seen through an overlay.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback

from orchestrator.testbed.kernel import system

OUTPUT = "/run/out"
_FOLDERS = ("/run", "/tmp", "/var", "/root", "/home", "/mnt")
_MODULES = "/run/modules"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OPTIONAL_MOUNTS = (
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("cgroup2", "/sys/fs/cgroup"),
)
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def main() -> None:
    """Run as process 1 and never return."""
    try:
        with open(f"{os.environ['BED_INPUT']}/test.json") as text:
            test = json.load(text)
        _mount()
        _provide_modules(test["built_in"])
        _raise_loopback()
        _run(test["command"], f"{os.environ['BED_TESTS']}/{test['folder']}", test["limit_s"])
    except BaseException:  # noqa: BLE001 - process 1 must power off whatever happened
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        system.power_off()


def _mount() -> None:
    # Before any program runs: where root's files belong to nobody, a setuid mount loses root.
    system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
    system.mount("proc", "/proc", "proc")
    system.mount("sysfs", "/sys", "sysfs")
    for folder in _FOLDERS:
        system.mount("tmpfs", folder, "tmpfs")
    for kind, folder in (("devpts", "/dev/pts"), ("tmpfs", "/dev/shm")):
        os.makedirs(folder, exist_ok=True)
        system.mount(kind, folder, kind)
    for kind, folder in _OPTIONAL_MOUNTS:  # that a kernel may lack
        with contextlib.suppress(OSError):
            system.mount(kind, folder, kind)
    os.symlink("/run", "/var/run")
    tests = os.environ["BED_TESTS"]
    for folder in (OUTPUT, tests, "/run/upper", "/run/work", "/run/netns"):
        os.mkdir(folder)
    system.mount("none", OUTPUT, "hostfs", 0, os.environ["BED_OUTPUT"])
    lower = f"{os.environ['BED_INPUT']}/tests"
    layers = f"lowerdir={lower},upperdir=/run/upper,workdir=/run/work"
    system.mount("overlay", tests, "overlay", 0, layers)


def _provide_modules(built_in: list[str]) -> None:
    """Load the modules of this kernel, and let modprobe find them and those that are built in.

    Tests begin with modprobe, which fails where it has never heard of a module.
    """
    # Twice, because a few modules need the symbols of another one.
    for path in 2 * sorted(glob.glob(f"{os.environ['BED_MODULES']}/*.ko")):
        with contextlib.suppress(OSError):
            system.load_module(path, "")
    folder = f"{_MODULES}/lib/modules/{os.uname().release}"
    os.makedirs(folder)
    os.symlink(".", f"{_MODULES}/usr")  # where modprobe looks on some systems
    os.symlink(os.environ["BED_MODULES"], f"{folder}/kernel")
    with open(f"{folder}/modules.builtin", "w") as table:
        table.writelines(f"kernel/{name}.ko\n" for name in built_in)
    with contextlib.suppress(FileNotFoundError):  # a machine without it has no modprobe
        subprocess.run(["/usr/sbin/depmod", "-b", _MODULES], check=False)


def _raise_loopback() -> None:
    """Set the loopback device up, as every machine has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14x", b"lo", 0)
        answer = fcntl.ioctl(handle, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _run(command: list[str], folder: str, limit_s: float) -> None:
    """Run the test to its end or its limit, and write how it ended."""
    path = f"{os.environ['BED_INPUT']}/bin:{_PATH}"
    environment = {
        "PATH": path,
        "HOME": "/root",
        "TERM": "dumb",
        "LC_ALL": "C",
        "MODPROBE_OPTIONS": f"-d {_MODULES}",
    }
    began_ns = system.monotonic_ns()
    with open(f"{OUTPUT}/said", "wb") as said:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            # As a shell tells of a program that is not there, or that is none.
            said.write(f"{command[0]}: {error.strerror}\n".encode())
            status = 127 if error.errno == errno.ENOENT else 126
            _write_end("exit", status, began_ns)
            return
    ended = os.pidfd_open(process.pid)
    if select.select([ended], [], [], limit_s)[0]:
        _write_end("exit", process.wait(), began_ns)
    else:
        os.killpg(process.pid, signal.SIGKILL)
        _write_end("late", process.wait(), began_ns)


def _write_end(how: str, status: int, began_ns: int) -> None:
    with open(f"{OUTPUT}/status", "w") as file:
        file.write(f"{how} {status} {system.monotonic_ns() - began_ns}\n")


if __name__ == "__main__":
    main()
