"""The host as a hostile guest could change it, and the users that run one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from orchestrator.sandbox import identity
from tests.support.users import User

KERNELS = ("", pytest.param("7.3", marks=pytest.mark.long))
"""The default kernel, and one whose guests may add filters of system calls: `make test-hostile`
builds it."""
HERE = Path(__file__).resolve().parent
SYSCTLS = Path("/proc/sys")
VOLATILE = (
    "dentry-state", "file-nr", "inode-nr", "inode-state", "random/", "ns_last_pid", "uuid",
    "pty/nr", "nf_conntrack_count", "ld_idt", "/net/", "perf_event_max_sample_rate", "aio-nr",
    "fs/quota/",
)  # fmt: skip
"""Sysctls that change by themselves."""
ABSTRACT = b"\0orchestrator-hostile-test"


@dataclass
class Outcome:
    """How one command of a user's ended."""

    status: int
    output: str
    errors: str
    peak_bytes: int
    wall_s: float

    def runs(self) -> list[dict[str, Any]]:
        """Return the runs of its JSON document."""
        assert self.output, self.errors
        document: dict[str, Any] = json.loads(self.output)
        runs: list[dict[str, Any]] = document["runs"]
        return runs


@dataclass
class Desk:
    """A user's folder with the hostile scenario and a store; a process of that user's to spare."""

    user: User
    folder: Path
    target: subprocess.Popen[bytes]
    db: Path = field(init=False)

    def __post_init__(self) -> None:
        self.db = self.folder / "runs.db"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of the user's commands."""
        return self.folder / "tmp"

    @property
    def scenario(self) -> Path:
        """The hostile scenario."""
        return self.folder / "intruder.yaml"

    def orchestrator(self, *words: str, timeout_s: float = 120) -> Outcome:
        """Run a command of the orchestrator as the user and return how it ended."""
        program = "from orchestrator.cli import main; main()"
        return self.python("-c", program, *words, "--db", str(self.db), timeout_s=timeout_s)

    def run(self, kernel: str = "", **parameters: Sequence[int]) -> Outcome:
        """Run the hostile scenario, on a kernel, for each value of its module's parameters."""
        words = ["run", str(self.scenario), "--json", "--quiet", "--timeout", "8s"]
        words += ["--kernel", kernel] if kernel else []
        axes = (
            f"flows.mine.congestion.parameters.{name}: {json.dumps(list(values))}"
            for name, values in parameters.items()
        )
        words += ["--set", f"matrix={{{', '.join(axes)}}}"]
        return self.orchestrator(*words)

    def python(self, *words: str, timeout_s: float = 120) -> Outcome:
        """Run Python as the user, with the project's packages."""
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self._start([sys.executable, *words], out, err)
            peak_bytes, status = _wait(process, timeout_s)
            wall_s = time.monotonic() - began
            out.seek(0)
            err.seek(0)
            said, complained = (file.read().decode(errors="replace") for file in (out, err))
        return Outcome(status, said, complained, peak_bytes, wall_s)

    def _start(
        self, words: Sequence[str], out: IO[bytes], err: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        words, code, options = self.user.command(words, self.folder.parent / "code")
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=self._environment(code),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            **options,
        )

    def _environment(self, code: Path) -> dict[str, str]:
        kept = {
            name: os.environ[name]
            for name in ("ORCHESTRATOR_CACHE", "ORCHESTRATOR_KERNEL_SOURCE")
            if name in os.environ
        }
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.folder),
            "PYTHONPATH": str(code),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.temporary),
            **kept,
        }


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[int, int]:
    """Return the most memory, in bytes, and the status of a process; kill it when it is late."""
    deadline = time.monotonic() + timeout_s
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss * 1024, process.returncode
        if time.monotonic() > deadline:
            process.kill()
        time.sleep(0.02)


@contextlib.contextmanager
def desk(user: User) -> Iterator[Desk]:
    """Set up a user's desk; nothing of it is left afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="hostile-") as name,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        folder = Path(name)
        folder.chmod(0o755)
        listener.bind(ABSTRACT)
        listener.listen()
        place = folder / "desk"
        place.mkdir()
        shutil.copytree(HERE / "intruder", place / "intruder")
        shutil.copy(HERE / "intruder.yaml", place)
        (place / "tmp").mkdir()
        target = subprocess.Popen(["sleep", "100000"], **user.options())
        text = f'#define TARGET {target.pid}\n#define TARGET_TEXT "{target.pid}"\n'
        (place / "intruder" / "target.h").write_text(text, encoding="utf-8")
        for path in (place, *place.rglob("*")):
            os.chown(path, user.uid, user.gid)
        try:
            here = Desk(user, place, target)
            yield here
            assert target.poll() is None, "the guest ended a process of the host"
            assert not list(here.temporary.iterdir())
            deadline = time.monotonic() + 10  # the last killed ones may still be ending
            while processes(here) and time.monotonic() < deadline:
                time.sleep(0.05)
            left = processes(here)
            said = "no other run may go on as root on this machine meanwhile"
            assert not left, f"processes are left: {left}; {said}"
        finally:
            target.kill()
            target.wait()


def snapshot() -> dict[str, Any]:
    """Return what of the host a guest could change, in a form that can be compared."""
    return {
        "sysctls": dict(_sysctls()),
        "/etc": _listed(Path("/etc")),
        "folders": {
            place: _names(place)
            for place in ("/", "/usr", "/usr/bin", "/home", "/root", "/var", "/run", "/dev/shm")
            if os.access(place, os.R_OK)
        },
        "mounts": Path("/proc/self/mounts").read_text(encoding="utf-8"),
        "interfaces": _names("/sys/class/net"),
        "memory segments": Path("/proc/sysvipc/shm").read_text(encoding="ascii").count("\n"),
        "keys": _lines("/proc/keys"),
        "host name": socket.gethostname(),
        "limits": resource.getrlimit(resource.RLIMIT_CORE),
    }


def _names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def _sysctls() -> Iterator[tuple[str, str]]:
    for path in SYSCTLS.rglob("*"):
        if path.is_file() and not any(word in str(path) for word in VOLATILE):
            with contextlib.suppress(OSError):
                yield str(path), path.read_text(encoding="utf-8", errors="replace")


def _listed(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (
                f"{status.st_mode} {status.st_uid} {status.st_size} "
                f"{hashlib.sha256(content).hexdigest()}"
            )
    return found


def _lines(path: str) -> int:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").count("\n")
    except OSError:
        return -1


def processes(desk: Desk) -> list[str]:
    """Return the processes that a user's commands left behind, each by its command line."""
    first = identity.FIRST
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            uid = folder.stat().st_uid
            left = first <= uid < 2 * first if desk.user.uid == 0 else uid == desk.user.uid
            if left and folder.name != str(desk.target.pid):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                found.append(b" ".join(words).decode(errors="replace"))
    return found
