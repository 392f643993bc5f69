"""What a bed's folder may hold, as the controller opens it."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from orchestrator.backends.progress import ProgressMonitor, parse_progress
from orchestrator.compile.bounds import Bounds
from orchestrator.decode.output import OutputFolder, console_text, require_small_console
from orchestrator.errors import BedError, GuestError
from orchestrator.files import removal
from orchestrator.files.removal import remove_tree

NAMES = ("tcp.bin", "senders.bin", "queue.bin", "readings.bin", "sojourn.bin", "transfers.bin",
         "datagrams.bin", "counters.bin", "facts.jsonl", "progress", "bed.log",
         "failure")  # fmt: skip
MIB = 2**20
Step = tuple[str, float, int]


@pytest.fixture
def output(tmp_path: Path) -> OutputFolder:
    folder = tmp_path / "out"
    folder.mkdir()
    return OutputFolder(folder)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_secret(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_text("private\n", encoding="utf-8")
    path.symlink_to(secret)


def link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def hard_link(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_text("private\n", encoding="utf-8")
    path.hardlink_to(secret)


def folder(path: Path) -> None:
    path.mkdir()


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


HOSTILE: list[tuple[Callable[[Path], None], str]] = [
    (fifo, "is a FIFO; only regular files are allowed"),
    (link_to_secret, "is a symbolic link"),
    (link_to_zero, "is a symbolic link"),
    (link_to_itself, "is a symbolic link"),
    (hard_link, "has 2 names"),
    (folder, "is a folder"),
    (unix_socket, "is a socket"),
    (sparse, "has 1099511627776 bytes; at most"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("act", "said"), HOSTILE, ids=[act.__name__ for act, _said in HOSTILE])
def test_only_small_regular_files_are_opened(
    output: OutputFolder, name: str, act: Callable[[Path], None], said: str
) -> None:
    act(output.folder / name)
    with pytest.raises(BedError, match=said) as refused:
        output.opened(name)
    assert name in str(refused.value)
    assert "private" not in output.text(name)
    assert said in output.text(name)


def test_devices_are_not_opened(tmp_path: Path) -> None:
    output = OutputFolder(Path("/dev"))
    output.owner_uid = Path("/dev/zero").stat().st_uid
    with pytest.raises(BedError, match="zero is a character device"):
        output.opened("zero")


def test_files_of_another_user_are_refused(output: OutputFolder) -> None:
    (output.folder / "bed.log").write_text("said\n", encoding="utf-8")
    assert output.text("bed.log") == "said\n"
    output.owner_uid += 1
    with pytest.raises(BedError, match=rf"only files of uid {output.owner_uid}"):
        output.whole("bed.log")


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "progress").write_text("done 1", encoding="utf-8")
    (tmp_path / "out").symlink_to("real")
    with pytest.raises(BedError, match="the output folder cannot be opened"):
        OutputFolder(tmp_path / "out").start("progress", 64)


def test_what_is_not_there_yet_is_no_fault(tmp_path: Path) -> None:
    output = OutputFolder(tmp_path / "out")
    assert output.start("progress", 64) is None
    assert output.written() == 0
    assert output.text("bed.log") == ""
    with pytest.raises(BedError, match=r"did not write queue\.bin"):
        output.whole("queue.bin")


def test_a_file_that_grows_is_read_as_it_was(output: OutputFolder) -> None:
    path = output.folder / "queue.bin"
    path.write_bytes(b"a" * 10)
    file = output.opened("queue.bin")
    assert file is not None
    assert file.whole() == b"a" * 10
    with path.open("r+b") as grows:
        grows.truncate(2**40)
    with pytest.raises(BedError, match=r"queue\.bin has 1099511627776 bytes"):
        file.whole()
    assert len(file.read(0, 64)) == 64
    path.unlink()
    with pytest.raises(BedError, match="has 0 names"):
        file.size()


def test_the_folder_is_bounded_in_files_and_bytes(output: OutputFolder) -> None:
    (output.folder / "tcp.bin").write_bytes(bytes(1000))
    assert output.written() == 1000
    small = OutputFolder(output.folder, Bounds(file_bytes={"tcp.bin": 999}))
    with pytest.raises(BedError, match=r"tcp\.bin has 1000 bytes"):
        small.written()
    sparse(output.folder / "mine")
    with pytest.raises(BedError, match="mine has"):
        output.written()
    (output.folder / "mine").unlink()
    folder(output.folder / "mine")
    with pytest.raises(BedError, match="mine is a folder"):
        output.written()
    (output.folder / "mine").rmdir()
    for number in range(1001):
        (output.folder / f"f{number}").touch()
    with pytest.raises(BedError, match="more than 1000 files"):
        output.written()


def test_bytes_of_all_files_together_are_bounded(output: OutputFolder) -> None:
    bounded = OutputFolder(output.folder, Bounds(file_bytes={"tcp.bin": 4 * MIB}))
    for name in ("a", "b", "c"):
        with (output.folder / name).open("wb") as file:
            file.truncate(2 * MIB)
    with pytest.raises(BedError, match=f"holds {6 * MIB} bytes; at most 4 MiB"):
        bounded.written()


def test_reading_ends_when_the_run_is_to_stop(output: OutputFolder) -> None:
    (output.folder / "facts.jsonl").write_bytes(bytes(100))
    output.stopping.set()
    with pytest.raises(BedError, match="interrupted"):
        output.whole("facts.jsonl")


def test_a_log_is_kept_within_bounds(output: OutputFolder) -> None:
    log = output.folder / "bed.log"
    with log.open("wb") as file:
        file.write(b"first\n" + b"x" * (10 * MIB) + b"\nlast\n")
    text = output.text("bed.log")
    assert text.startswith("first\n")
    assert text.endswith("\nlast\n")
    assert "bytes left out" in text
    assert "characters left out" in text
    assert len(text) < 20_000
    log.write_text("".join(f"{number}\n" for number in range(100_000)), encoding="utf-8")
    lines = output.text("bed.log").splitlines()
    assert len(lines) == 10_001
    assert (lines[0], lines[5000], lines[-1]) == ("0", "[... 90000 lines left out ...]", "99999")


def test_a_console_is_bounded(tmp_path: Path) -> None:
    console = tmp_path / "console"
    assert console_text(console) == ""
    require_small_console(console, Bounds())
    console.write_bytes(b"\x1b]0;owned\x07\x1b[2J\xc2\x9b31m\r\nplain\ttext\n")
    assert console_text(console) == "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\nplain\ttext\n"
    with console.open("r+b") as file:
        file.truncate(16 * MIB + 1)
    with pytest.raises(BedError, match="console output exceeds 16 MiB"):
        require_small_console(console, Bounds())
    began = time.monotonic()
    assert len(console_text(console)) < 100_000
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"", ("boot", 0.0)),
        (b"setup 0".ljust(48), ("setup", 0.0)),
        (b"traffic 1500000000".ljust(48), ("traffic", 1.5)),
        (b"done 2000000000\n", ("done", 2.0)),
    ],
)
def test_progress_is_read(text: bytes, found: tuple[str, float]) -> None:
    assert parse_progress(text, 2.0) == found


@pytest.mark.parametrize(
    "text",
    [b"flying 0", b"setup", b"setup x", b"setup -1", b"setup 1 2", b"traffic 9000000000",
     b"traffic 1e9", b"\xff\xfe 1", bytes(64), b"traffic " + b"9" * 56,
     "traffic \N{ARABIC-INDIC DIGIT ONE}".encode()],
)  # fmt: skip
def test_progress_of_another_form_is_malformed(text: bytes) -> None:
    with pytest.raises(BedError, match="malformed output: progress"):
        parse_progress(text, 2.0)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def monitor(clock: Clock, wall_s: float = 1e6) -> ProgressMonitor:
    return ProgressMonitor("the guest", 10.0, wall_s, 5.0, GuestError, clock)


def feed(moves: ProgressMonitor, clock: Clock, period_s: float, steps: Iterable[Step]) -> None:
    """Let the bed say these things, one each period."""
    for step in steps:
        clock.now_s += period_s
        moves.update(*step)


def ended_after(clock: Clock, phase: str, simulated_s: float, grows: bool) -> float:
    """Return after how long a bed is ended that says the same again and again."""
    began_s = clock.now_s
    with pytest.raises(GuestError, match=f"no progress for 5 s, in phase {phase}"):
        feed(monitor(clock), clock, 0.1, ((phase, simulated_s, n * grows) for n in range(2000)))
    return clock.now_s - began_s


def test_simulated_time_is_progress_and_creeping_is_none() -> None:
    clock = Clock()
    assert ended_after(clock, "traffic", 1.0, grows=False) == pytest.approx(5.2, abs=0.2)
    feed(monitor(clock), clock, 4.0, (("traffic", step * 0.1, 0) for step in range(1, 101)))
    creeping = (("traffic", 1.0 + step * 1e-6, 0) for step in range(1000))
    with pytest.raises(GuestError, match=r"made no progress for 5 s, in phase traffic"):
        feed(monitor(clock), clock, 0.1, creeping)


def test_files_that_grow_are_progress_before_traffic_for_a_while() -> None:
    clock = Clock()
    assert ended_after(clock, "setup", 0.0, grows=True) == pytest.approx(55.0, abs=0.5)
    assert ended_after(clock, "traffic", 0.0, grows=True) == pytest.approx(5.2, abs=0.3)
    assert ended_after(clock, "done", 10.0, grows=True) == pytest.approx(5.2, abs=0.3)


def test_going_back_and_forth_is_no_progress() -> None:
    clock = Clock()
    steps = ((("setup", "probes")[step % 2], (step % 2) * 1.0, 0) for step in range(1000))
    with pytest.raises(GuestError, match="no progress"):
        feed(monitor(clock), clock, 0.1, steps)


def test_a_run_has_a_bound_of_wall_time() -> None:
    clock = Clock()
    steps = (("traffic", step * 0.1, 0) for step in range(1, 101))
    with pytest.raises(GuestError, match=r"longer than 90s of wall time.*--timeout"):
        feed(monitor(clock, wall_s=90.0), clock, 4.0, steps)


def deep(path: Path, levels: int) -> None:
    """Make folders inside each other, deeper than a path may be long."""
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _level in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY, 0, dir_fd=here))
    os.fchmod(here, 0)
    os.close(here)


@pytest.mark.slow
def test_a_folder_goes_whatever_is_in_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine", encoding="utf-8")
    run = tmp_path / "run"
    run.mkdir()
    deep(run / "deep", 3000)
    for number in range(2000):
        (run / f"f{number}").touch(mode=0)
    (run / "link").symlink_to(kept)
    (run / "locked").mkdir()
    (run / "locked" / "link").symlink_to(kept)
    (run / "locked" / "file").write_text("x", encoding="utf-8")
    (run / "hard").hardlink_to(kept / "mine")
    os.mkfifo(run / "fifo")
    (run / "locked").chmod(0)
    run.chmod(0)
    remove_tree(run)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert (kept / "mine").read_text(encoding="utf-8") == "mine"
    assert kept.stat().st_mode & 0o777 != 0
    remove_tree(run)


LOCKED = """
import os, tempfile
top = Path(tempfile.mkdtemp())
here = os.open(top, os.O_RDONLY)
for level in range(600):
    os.mkdir("d", dir_fd=here)
    below = os.open("d", os.O_RDONLY, dir_fd=here)
    if level:
        os.fchmod(here, 0)
    os.close(here)
    here = below
os.fchmod(here, 0)
os.close(here)
remove_tree(top)
assert os.geteuid() and not os.path.lexists(top)
"""


@pytest.mark.slow
def test_an_ordinary_user_removes_folders_that_nobody_may_enter() -> None:
    script = Path(removal.__file__).read_text(encoding="utf-8") + LOCKED
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    words = ["/usr/bin/python3", "-"]
    subprocess.run(words, input=script.encode(), cwd="/", check=True, **user)  # type: ignore[call-overload]


def test_a_link_in_the_place_of_the_folder_is_removed_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").touch()
    (tmp_path / "run").symlink_to("kept")
    remove_tree(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "mine").exists()


def test_a_fifo_never_blocks(output: OutputFolder) -> None:
    fifo(output.folder / "progress")
    found: list[str] = []

    def look() -> None:
        found.append(output.text("progress"))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert "is a FIFO" in found[0]
