"""The transport to other machines, against an OpenSSH server of the test's own on loopback."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.remote import clocks
from orchestrator.backends.remote.ssh import RemoteMachine, SshConnections, at_once, files_of
from orchestrator.errors import RemoteError
from tests.support.sshd import Server, start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture
def fleet() -> Iterator[SshConnections]:
    with SshConnections(silence_s=4) as fleet:
        yield fleet


@pytest.fixture
def remote(server: Server, fleet: SshConnections) -> RemoteMachine:
    return fleet.connect(server.address())


@pytest.mark.slow
def test_a_command_gets_its_words_as_they_are(remote: RemoteMachine) -> None:
    words = ["printf", "%s\n", "$HOME; exit 3", "a  b", "'\"`", ""]
    assert remote.require(words) == b"$HOME; exit 3\na  b\n'\"`\n\n"


@pytest.mark.slow
def test_a_command_gets_input_and_gives_status_and_complaint(remote: RemoteMachine) -> None:
    done = remote.run(["sh", "-c", "cat; echo it is so >&2; exit 7"], stdin=b"\0\xff" * 100_000)
    assert (done.status, done.stdout, done.error_line) == (7, b"\0\xff" * 100_000, "it is so")
    with pytest.raises(RemoteError, match=r"there \(.*\): `false` failed: status 1"):
        remote.require(["false"])


@pytest.mark.slow
def test_a_command_that_takes_too_long_is_an_error(remote: RemoteMachine) -> None:
    with pytest.raises(RemoteError, match=r"`sleep 60` did not end within 0\.2 s"):
        remote.run(["sleep", "60"], timeout_s=0.2)
    assert remote.run(["true"]).status == 0, "the connection goes on"


def test_a_program_is_talked_to_until_its_input_ends(remote: RemoteMachine) -> None:
    lines: queue.Queue[bytes] = queue.Queue()
    ends: queue.Queue[int | None] = queue.Queue()
    words = ["sh", "-c", "while read x; do echo got $x; done; echo last words >&2; exit 5"]
    program = remote.start(words, lines.put, ends.put)
    program.send_line(b"one")
    assert lines.get(timeout=10) == b"got one"
    program.send_line(b"two")
    assert lines.get(timeout=10) == b"got two"
    program.end_input()
    assert ends.get(timeout=10) == 5
    assert program.error_lines == ["last words"]


@pytest.mark.slow
def test_closing_the_connection_ends_the_input_of_programs(server: Server, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ends: queue.Queue[int | None] = queue.Queue()
    with SshConnections() as fleet:
        remote = fleet.connect(server.address())
        remote.start(["sh", "-c", f"cat; echo over > {seen}"], lambda line: None, ends.put)
    assert ends.get(timeout=10) is None
    _wait_for(seen.exists)


@pytest.mark.slow
def test_a_server_process_that_is_killed_is_a_lost_machine(remote: RemoteMachine) -> None:
    ends: queue.Queue[int | None] = queue.Queue()
    remote.start(["cat"], lambda line: None, ends.put)
    session = int(remote.require(["sh", "-c", "echo $PPID"]))
    os.kill(session, signal.SIGKILL)
    assert ends.get(timeout=10) is None
    with pytest.raises(RemoteError, match="lost during `true`"):
        remote.run(["true"])


@pytest.mark.long
@pytest.mark.slow
def test_a_machine_that_says_nothing_is_lost(server: Server) -> None:
    ends: queue.Queue[int | None] = queue.Queue()
    with SshConnections(silence_s=2) as fleet:
        remote = fleet.connect(server.address())
        remote.start(["cat"], lambda line: None, ends.put)
        session = int(remote.require(["sh", "-c", "echo $PPID"]))
        os.kill(session, signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert ends.get(timeout=20) is None
            assert time.monotonic() - began < 8
        finally:
            os.kill(session, signal.SIGKILL)


@pytest.mark.slow
def test_files_go_there_and_come_back(remote: RemoteMachine, tmp_path: Path) -> None:
    here, there, back = tmp_path / "here", tmp_path / "there", tmp_path / "back"
    (here / "deep").mkdir(parents=True)
    there.mkdir()
    (here / "a").write_bytes(os.urandom(300_000))
    (here / "deep" / "b c").write_text("b")
    remote.put(files_of(here, "code"), str(there))
    assert (there / "code" / "deep" / "b c").read_text() == "b"
    remote.fetch(f"{there}/code", back)
    assert (back / "a").read_bytes() == (here / "a").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back", "here", "there"]
    with pytest.raises(RemoteError, match="cannot send"):
        remote.fetch(f"{there}/nothing", tmp_path / "none")


def test_only_plain_files_are_taken(remote: RemoteMachine, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "link").symlink_to("/etc/passwd")
    with pytest.raises(RemoteError, match="link', which is not a regular file"):
        remote.fetch(str(there), tmp_path / "back")


@pytest.mark.slow
def test_so_much_is_taken_and_no_more(remote: RemoteMachine, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "large").write_bytes(bytes(3000))
    remote.fetch(str(there), tmp_path / "back", most_bytes=3000)
    with pytest.raises(RemoteError, match=r"sends too much, at \./large"):
        remote.fetch(str(there), tmp_path / "again", most_bytes=2999)
    (there / "large").write_bytes(bytes(6 * 2**20))
    with pytest.raises(RemoteError, match="sends too much"):
        remote.fetch(str(there), tmp_path / "third", most_bytes=2**20)


@pytest.mark.slow
def test_clocks_of_the_same_machine_are_equal(remote: RemoteMachine) -> None:
    offset = remote.clock_offset()
    assert 0 < offset.uncertainty_ns < 50_000_000
    assert abs(offset.monotonic_ns) <= offset.uncertainty_ns
    assert abs(offset.realtime_ns) <= offset.uncertainty_ns + 1_000_000


def test_a_clock_that_cannot_be_read_is_an_error(remote: RemoteMachine) -> None:
    with pytest.raises(RemoteError, match=r"its clock cannot be read: .*No such file"):
        remote.clock_offset("/nothing/python3")


def test_a_clock_reader_that_ended_before_the_first_question_says_why() -> None:
    class Ended:
        """A process that ended before its input was written, as on a busy machine."""

        @property
        def stdin(self) -> Ended:
            return self

        stdout = stderr = stdin

        def write(self, _data: bytes) -> None:
            raise BrokenPipeError("Channel not open for sending")

        async def readline(self) -> bytes:
            return b""

        async def read(self) -> bytes:
            return b"bash: python3: No such file or directory\n"

    process: Any = Ended()
    with pytest.raises(RemoteError, match=r"h1: its clock cannot be read: .*No such file"):
        asyncio.run(clocks.round_trip(process, "h1"))


def test_all_that_cannot_be_reached_say_why_at_once(
    server: Server, fleet: SshConnections, tmp_path: Path
) -> None:
    good = server.address("good")
    stranger = tmp_path / "known_hosts"
    stranger.write_text("")
    key = tmp_path / "key"
    key.write_text("no key\n")
    addresses = [
        good,
        replace(good, name="closed", port=1),
        replace(good, name="stranger", known_hosts=stranger),
        replace(good, name="no-key", key=key),
        replace(good, name="nobody", user="nobody"),
        replace(good, name="nameless", host="no-such-host.invalid"),
    ]
    first, *others = at_once(fleet.connect, addresses)
    assert isinstance(first, RemoteMachine)
    said = [str(error) for error in others]
    patterns = ["Connect call failed", "not trusted", "nvalid", "ermission denied", "nown"]
    for address, text, pattern in zip(addresses[1:], said, patterns, strict=True):
        assert text.startswith(f"{address.name} ("), text
        assert pattern in text, text


def _wait_for(true: object) -> None:
    deadline = time.monotonic() + 10
    assert callable(true)
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
