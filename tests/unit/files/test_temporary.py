"""Temporary folders: what a killed process leaves is removed by the next one, by its lock."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import MachineError, RunError
from orchestrator.files.temporary import (
    TemporaryFolder,
    explain_full_disk,
    remove_abandoned,
    temporary_folder,
)

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import os, time
from pathlib import Path
from orchestrator.files.temporary import TemporaryFolder
temporary = TemporaryFolder("test")
(temporary.path / "deep").mkdir()
(temporary.path / "deep" / "file").write_text("content")
child = os.fork() if {forks} else 1
if child:
    print(temporary.path, child, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, which TMPDIR names."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def holding(forks: bool = False) -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """Start a process with a temporary folder, and with a child when it ``forks``."""
    words = [sys.executable, "-c", HOLDER.format(forks=forks)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        path, child = process.stdout.readline().split()
        yield process, Path(path), int(child)
        process.kill()


@pytest.fixture
def held() -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    yield from holding()


@pytest.fixture
def held_twice() -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    yield from holding(forks=True)


def test_a_folder_exists_as_long_as_its_maker(root: Path) -> None:
    with temporary_folder("test") as folder:
        assert re.fullmatch("tcp-orchestrator-test-[a-z0-9_]{8}", folder.name)
        assert folder.parent == root
        assert folder.stat().st_mode & 0o777 == 0o700
        with temporary_folder("test") as other:
            assert folder.is_dir()
        assert not other.exists()
    assert list(root.iterdir()) == []


def test_folders_of_a_killed_process_are_removed_by_the_next(
    held: tuple[subprocess.Popen[str], Path, int],
) -> None:
    process, left, _child = held
    assert remove_abandoned(left.parent, "test") == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (left / "deep" / "file").exists()
    with temporary_folder("other"):
        assert left.exists()
    with temporary_folder("test"):
        assert not left.exists()


def test_a_child_process_keeps_the_folder(
    held_twice: tuple[subprocess.Popen[str], Path, int],
) -> None:
    process, left, child = held_twice
    end = os.pidfd_open(child)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert remove_abandoned(left.parent, "test") == []
    signal.pidfd_send_signal(end, signal.SIGKILL)
    while not remove_abandoned(left.parent, "test"):
        os.sched_yield()
    os.close(end)
    assert not left.exists()


def test_only_folders_of_this_user_are_removed(root: Path, tmp_path: Path) -> None:
    # The names that somebody could choose to have a file of the user's removed.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (root / "tcp-orchestrator-test-aaaaaaaa").symlink_to(elsewhere)
    (root / "tcp-orchestrator-test-bbbbbbbb").touch()
    os.mkfifo(root / "tcp-orchestrator-test-cccccccc")
    (root / "tcp-orchestrator-test-data").mkdir()
    (root / "tcp-orchestrator-test-dddddddd").mkdir()
    before = len(list(root.iterdir()))
    owner = os.geteuid()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: owner + 1)
        assert remove_abandoned(root, "test") == []
    removed = remove_abandoned(root, "test")
    assert [path.name for path in removed] == ["tcp-orchestrator-test-dddddddd"]
    assert len(list(root.iterdir())) == before - 1
    assert (elsewhere / "file").exists()


def test_a_folder_removed_as_abandoned_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really_lock = fcntl.flock
    removed: list[Path] = []

    def lock_late(handle: int, how: int) -> None:
        if not removed:  # another process is faster
            removed.append(Path(f"/proc/self/fd/{handle}").readlink())
            removed[0].rmdir()
        really_lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    temporary = TemporaryFolder("test")
    assert temporary.path.is_dir()
    assert temporary.path != removed[0]
    temporary.remove()


def test_a_folder_removed_before_it_is_opened_is_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_make = tempfile.mkdtemp
    made: list[Path] = []

    def make_and_lose(**of_folder: Any) -> str:
        made.append(Path(really_make(**of_folder)))
        if len(made) == 1:  # another process is faster
            made[0].rmdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    with temporary_folder("test", root) as folder:
        assert folder == made[1]
        assert folder.is_dir()
    assert list(root.iterdir()) == []


@pytest.mark.slow
def test_processes_that_make_folders_at_once_do_not_lose_them(root: Path) -> None:
    program = (
        "import sys; from pathlib import Path; "
        "from orchestrator.files.temporary import temporary_folder\n"
        "for _ in range(300):\n"
        "    with temporary_folder('test', Path(sys.argv[1])) as folder:\n"
        "        (folder / 'file').touch()"
    )
    command = [sys.executable, "-c", program, str(root)]
    started = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    assert list(root.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_made_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(root / "none"))
    with pytest.raises(MachineError, match=r"TMPDIR is .*none, which is not a folder\n.*unset"):
        TemporaryFolder("test")
    monkeypatch.setenv("TMPDIR", "/proc")
    with pytest.raises(MachineError, match="cannot make a temporary folder in /proc"):
        TemporaryFolder("test")


def test_a_folder_that_a_user_named_is_no_matter_of_a_variable() -> None:
    with pytest.raises(MachineError) as refused:
        TemporaryFolder("test", Path("/proc"))
    assert str(refused.value).startswith("cannot make a temporary folder in /proc: ")
    assert "TMPDIR" not in str(refused.value)
    assert str(refused.value).endswith("\n  fix: name another place")


def test_a_disk_with_room_is_not_reported_as_full(root: Path) -> None:
    with pytest.raises(ValueError, match="of its own"), explain_full_disk(root):
        raise ValueError("a fault of its own")
    with pytest.raises(PermissionError), explain_full_disk(root):
        raise PermissionError(13, "Permission denied")
    with (
        pytest.raises(RunError, match="the temporary disk is full") as named,
        explain_full_disk(root),
    ):
        raise OSError(28, "No space left on device")
    assert f"at {root} " in str(named.value)
    assert "set TMPDIR to a folder with enough" in str(named.value)


def test_a_file_beyond_the_limit_on_sizes_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (4096, 8192))
    with pytest.raises(MachineError) as named, explain_full_disk(root):
        raise OSError(27, "File too large")
    assert str(named.value).splitlines() == [
        f"{root}: File too large: this process may write 4096 bytes to a file",
        "  fix: raise the limit on the size of files, which `ulimit -f` shows",
    ]
    with pytest.raises(MachineError, match=r"^/x/y: File too large"), explain_full_disk(root):
        raise OSError(27, "File too large", "/x/y")
