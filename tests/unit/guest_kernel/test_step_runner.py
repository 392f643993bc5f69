"""No program of a build outlives its builder, whichever of them is killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from guest import cache, step_runner
from guest.step_runner import run_step

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {"PATH": os.environ["PATH"]}

MAKE = """#!/bin/bash
# Like a make with jobs: processes of processes, most of them silent.
echo started $$
for job in 1 2 3; do
    (trap '' TERM INT; sleep 300 & sleep 300 & echo $BASHPID $!; wait) &
done
wait
"""
BUILDER = """
import functools, sys
from pathlib import Path
from guest import cache, step_runner
from guest.step_runner import run_step
root = cache.make_root()
with cache.builder_lock(root, functools.partial(print, "waiting", flush=True)) as lock:
    print("building", flush=True)
    say = functools.partial(print, end="", flush=True)
    print(run_step([sys.argv[1]], say, {"PATH": sys.argv[2]}, root, (lock,)), flush=True)
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that starts others and never ends, and a cache."""
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    return tmp_path / "make"


@contextlib.contextmanager
def builder(make: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that builds with that program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", BUILDER, str(make), os.environ["PATH"]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def step_of(process: subprocess.Popen[str]) -> list[int]:
    """Return descriptors of the processes of the step that the builder runs, its make the first."""
    assert said(process) == "building"
    started, make = said(process).split()
    assert started == "started"
    numbers = [make, *(word for _job in range(3) for word in said(process).split())]
    assert len(numbers) == 7
    return [os.pidfd_open(int(number)) for number in numbers]


def ended(handles: list[int]) -> bool:
    """Whether all these processes end soon; closes the descriptors."""
    all_ended = all(select.select([handle], [], [], 20)[0] for handle in handles)
    for handle in handles:
        os.close(handle)
    return all_ended


def test_a_killed_builder_ends_all_processes_of_its_step(make: Path) -> None:
    with builder(make) as process:
        step = step_of(process)
        process.kill()
        assert ended(step)


@pytest.mark.parametrize("victim", [0, 1, 2], ids=["make", "job", "compiler"])
def test_a_killed_process_of_a_step_ends_the_whole_step(make: Path, victim: int) -> None:
    with builder(make) as process:
        step = step_of(process)
        signal.pidfd_send_signal(step[victim], signal.SIGKILL)
        if victim == 0:  # or else make would see to it
            assert said(process) == "-9"
            assert ended(step)
        else:
            assert not select.select([step[0]], [], [], 0.1)[0]
            process.kill()
            assert ended(step)


def test_an_interrupted_builder_ends_its_step(make: Path) -> None:
    with builder(make) as process:
        step = step_of(process)
        process.send_signal(signal.SIGINT)
        assert ended(step)


def test_a_builder_waits_for_the_last_process_of_a_killed_builder(make: Path) -> None:
    # One that does not heed the hangup: it holds the lock.
    make.write_text(MAKE.replace("trap '' TERM INT", "trap '' TERM INT HUP"))
    with builder(make) as first:
        assert said(first) == "building"
        group = int(said(first).split()[1])
        step = [os.pidfd_open(int(word)) for _job in range(3) for word in said(first).split()]
        first.kill()
        with builder(make) as second:
            assert said(second) == "waiting"
            os.killpg(group, signal.SIGKILL)
            assert ended(step)
            assert said(second) == "building"


@pytest.mark.slow
def test_a_step_that_takes_too_long_is_ended(make: Path) -> None:
    lines: list[str] = []
    with pytest.raises(TimeoutError):
        run_step([str(make)], lines.append, ENVIRONMENT, make.parent, timeout_s=0.5)
    handles = []
    for number in " ".join(lines).split()[1:]:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(int(number)))
    assert ended(handles)


def test_output_and_status_are_those_of_the_program(tmp_path: Path) -> None:
    lines: list[str] = []
    text = "printf 'one\\ntwo\\377'; exec >&- 2>&-; sleep 0.1; exit 7"
    assert run_step(["sh", "-c", text], lines.append, ENVIRONMENT, tmp_path) == 7
    assert lines == ["one\n", "two\ufffd\n"]


def test_leftovers_of_killed_builds_are_removed_unless_a_build_runs(make: Path) -> None:
    root = cache.make_root()
    left = root / "guest" / cache.WORKSHOP / "tree"
    left.mkdir(parents=True)
    with cache.builder_lock(root, lambda: None):
        cache.remove_abandoned_builds(root)
        assert left.exists()
    modules = root / "guest" / "tcp-orchestrator-modules-01234567"
    modules.mkdir()
    cache.remove_abandoned_builds(root)
    assert sorted(path.name for path in (root / "guest").iterdir()) == ["lock"]
    cache.remove_abandoned_builds(root / "none")


def test_a_line_that_does_not_end_is_given_in_parts_and_a_step_is_watched(tmp_path: Path) -> None:
    def watch() -> None:
        raise RuntimeError("enough")

    lengths: list[int] = []

    def take(line: str) -> None:
        lengths.append(len(line))

    words = ["sh", "-c", "head -c 1000000 /dev/zero; exec sleep 60"]
    with pytest.raises(RuntimeError, match="enough"):
        run_step(words, take, ENVIRONMENT, tmp_path, watch=watch)
    assert sum(lengths) > 900_000
    assert max(lengths) < 4 * step_runner.MOST_LINE_BYTES
