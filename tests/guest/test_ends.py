"""However a run ends, the store tells so, and no process and no file is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guest.build import GuestKernel
from results.records.model import RunRow
from results.store.store import Store
from tests.guest.conftest import QUICKSTART, Run

pytestmark = pytest.mark.guest

PATIENCE_S = 60.0
LONG = "duration=4000s"


def eventually(what: Callable[[], object]) -> None:
    """Wait until ``what`` is true; fail after a long time."""
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.05)  # a store, a folder and /proc: no one event tells of all of them


def processes_of(folder: Path) -> list[int]:
    """Return the processes whose command line or environment names ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in text:
                found.append(int(entry.name))
    return found


@pytest.fixture
def started(
    kernel: GuestKernel, tmp_path: Path, db: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """``orchestrator run`` of a long scenario in a process of its own, its traffic running."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [str(Path(sys.executable).parent / "orchestrator"), "run", str(QUICKSTART)]
    process = subprocess.Popen(
        [*words, "--db", str(db), "--set", LONG],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually(lambda: any(b"traffic" in p.read_bytes() for p in temporary.rglob("progress")))
    yield process, temporary
    if process.poll() is None:
        process.kill()
    process.wait()


def one_run(db: Path) -> RunRow:
    with Store.open_read_only(db) as store:
        (row,) = store.list_runs()
    return row


def assert_nothing_left(temporary: Path) -> None:
    eventually(lambda: not processes_of(temporary))
    eventually(lambda: not list(temporary.iterdir()))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_is_marked_and_leaves_nothing(
    started: tuple[subprocess.Popen[bytes], Path], db: Path, kind: signal.Signals
) -> None:
    process, temporary = started
    process.send_signal(kind)
    assert process.wait(PATIENCE_S) == 130
    assert one_run(db).status == "interrupted"
    assert_nothing_left(temporary)


def test_a_killed_controller_leaves_nothing(
    started: tuple[subprocess.Popen[bytes], Path], db: Path
) -> None:
    process, temporary = started
    process.kill()
    process.wait()
    assert_nothing_left(temporary)
    eventually(lambda: one_run(db).status == "interrupted")


def test_a_killed_guest_fails_its_run(
    started: tuple[subprocess.Popen[bytes], Path], db: Path
) -> None:
    process, temporary = started
    guests = [
        pid
        for pid in processes_of(temporary)
        if pid != process.pid and Path(f"/proc/{pid}/exe").readlink().name == "bwrap"
    ]
    assert guests
    os.kill(guests[0], signal.SIGKILL)
    assert process.wait(PATIENCE_S) == 1
    row = one_run(db)
    assert row.status == "failed"
    assert row.error is not None
    assert "ended before the run did" in row.error
    assert_nothing_left(temporary)


def test_a_guest_that_hangs_is_ended_by_the_watchdog(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("print('about to hang', flush=True)\nwhile True:\n    pass\n", encoding="utf-8")
    document = run("duration=12s", "warmup=2s", hook=hook, watchdog_s=8.0)
    assert document["status"] == "failed"
    assert "no progress for 8.4 s" in document["error"]
    assert "about to hang" in document["error"]


@pytest.mark.parametrize(
    ("acts", "said"),
    [
        (
            "import ctypes\nctypes.CDLL(None).reboot(0x01234567)  # RB_AUTOBOOT",
            "the guest booted twice: something in it restarted its kernel",
        ),
        (
            "open('/proc/sysrq-trigger', 'w').write('c')",  # the kernel panics
            "the guest ended before the run did",
        ),
    ],
)
def test_a_guest_whose_kernel_ends_says_so(run: Run, tmp_path: Path, acts: str, said: str) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(acts, encoding="utf-8")
    document = run("duration=12s", "warmup=2s", hook=hook)
    assert (document["status"], said in document["error"]) == ("failed", True), document["error"]
