"""What goes on beside the Vagrant machine is stopped while that is not to be disturbed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vagrant import sessions


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A session with another group of processes in it, as a build has: its id, what it writes."""
    notes = tmp_path / "notes"
    loop = f"while :; do echo >>'{notes}'; sleep 0.01; done"
    program = f"import subprocess; subprocess.run({['sh', '-c', loop]!r}, process_group=0)"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, start_new_session=True) as process:
        until = time.monotonic() + 20
        while not notes.exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield process.pid, notes
        for each, _ in sessions.members(process.pid):
            with contextlib.suppress(ProcessLookupError):  # a `sleep` may have ended by itself
                os.kill(each, signal.SIGKILL)


@pytest.mark.slow
def test_a_stopped_session_does_nothing_and_goes_on_later(writer: tuple[int, Path]) -> None:
    session, notes = writer
    with sessions.stopped(session):
        states = dict(sessions.members(session))
        assert len(states) >= 2
        assert len({os.getpgid(pid) for pid in states}) == 2
        assert set(states.values()) == {"T"}
        before = notes.stat().st_size
        time.sleep(0.3)
        assert notes.stat().st_size == before
    until = time.monotonic() + 20
    while notes.stat().st_size == before and time.monotonic() < until:
        time.sleep(0.01)
    assert notes.stat().st_size > before


def test_it_goes_on_whatever_happens_meanwhile(writer: tuple[int, Path]) -> None:
    session, _ = writer
    with pytest.raises(KeyError), sessions.stopped(session):
        raise KeyError
    assert "T" not in dict(sessions.members(session)).values()


def test_a_session_that_has_ended_has_nothing_to_stop() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as process:
        pass
    with sessions.stopped(process.pid):
        assert sessions.members(process.pid) == []
