"""What a fault leaves of a sandbox that was being started is ended, and nothing else."""

from __future__ import annotations

import os
import select
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.sandbox import orphans, view


@contextmanager
def waiting(program: Path, environment: dict[str, str], leader_lives: bool) -> Iterator[int]:
    """Start a program in a process group whose leader lives or has died; yield its process id."""
    told, tell = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.setsid()
        child = os.fork()
        if child == 0:
            os.execve(program, [str(program), "60"], environment)
        os.write(tell, f"{child}\n".encode())
        if leader_lives:
            signal.pause()
        os._exit(0)
    child = int(os.read(told, 64))
    if not leader_lives:
        os.waitpid(leader, 0)
    _wait_for_name(child, program.name)
    try:
        yield child
    finally:
        for pid in (child, leader) if leader_lives else (child,):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if leader_lives:
            os.waitpid(leader, 0)
        os.close(told)
        os.close(tell)


def _wait_for_name(pid: int, name: str) -> None:
    while Path(f"/proc/{pid}/comm").read_text().strip() != name:
        select.select([], [], [], 0.001)


@pytest.mark.parametrize(
    ("name", "of_a_run", "leader_lives", "ends"),
    [
        ("bwrap", True, False, True),
        ("bwrap", True, True, False),  # the controller that started its group still has it
        ("bwrap", False, False, False),  # of another program that uses bubblewrap
        ("sleep", True, False, False),
    ],
)
def test_only_a_bubblewrap_without_its_leader_is_ended(
    tmp_path: Path, name: str, of_a_run: bool, leader_lives: bool, ends: bool
) -> None:
    program = tmp_path / name
    shutil.copy("/bin/sleep", program)
    environment = view.run_environment(tmp_path) if of_a_run else {"OTHER": "1"}
    with waiting(program, environment, leader_lives) as pid:
        end = os.pidfd_open(pid)
        ended = orphans.end()
        # Another controller of this machine may have ended it first.
        assert ends or pid not in ended
        assert bool(select.select([end], [], [], 5.0 if ends else 0.0)[0]) is ends
        os.close(end)
