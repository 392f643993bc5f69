"""Captures at hosts: what is kept, what is lost, and what is written of it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.specification import CaptureSpec
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import system
from orchestrator.testbed.lab import flow_filter
from orchestrator.testbed.sampling.host_captures import HostCaptures
from orchestrator.testbed.sampling.packet_capture import PacketCapture
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.trace import CapturedHost

ADDRESS = bytes((10, 0, 0, 1))
TUNSETIFF, IFF_TUN = 0x400454CA, 0x0001


def may_capture() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return False
    return True


needs_capture = pytest.mark.skipif(not may_capture(), reason="needs the right to capture packets")


def send(number: int, size: int = 1000) -> None:
    """Send datagrams to this machine itself, where nobody receives them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for _ in range(number):
            one.sendto(bytes(size), ("127.0.0.1", 9))


def captured(
    folder: Path,
    from_ns: int,
    to_ns: int,
    send_at_ns: int,
    number: int,
    snap_bytes: int = 60,
    program: Sequence[bytes] = (),
) -> tuple[list[tuple[int, int, int, int]], dict[str, Any]]:
    """Return (time, step, size, bytes kept) of each frame of lo, and what the fact says."""
    home_fd = os.open("/proc/self/ns/net", os.O_RDONLY)
    capture: CaptureSpec = {
        "wanted": 1, "from_ns": from_ns, "to_ns": to_ns, "limit_bytes": 2**20,
        "snap_bytes": snap_bytes,
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    out = Records(str(folder))
    made = HostCaptures(capture, [CapturedHost("one", ADDRESS, home_fd, "lo", program)], home_fd)
    send(3)  # before anything counts
    origin_ns = system.monotonic_ns() + 50_000_000
    made.begin(origin_ns)
    time.sleep((origin_ns + send_at_ns - system.monotonic_ns()) / 1e9)
    send(number)
    made.end(out)
    out.close()
    os.close(home_fd)
    data, at, frames = (folder / records.FILE).read_bytes(), 0, []
    while at < len(data):
        time_ns, length, kind, step, _of = records.HEAD.unpack_from(data, at)
        address, size, kept, _ = records.FRAME_BODY.unpack_from(data, at + records.HEAD.size)
        assert (kind, address) == (records.FRAME, ADDRESS)
        frames.append((time_ns - origin_ns, step, size, kept))
        at += length
    facts = [json.loads(line) for line in (folder / "facts.jsonl").read_text().splitlines()]
    (fact,) = [fact for fact in facts if fact["fact"] == "captures"]
    (host,) = fact["hosts"]
    return frames, host


@needs_capture
def test_frames_of_the_window_are_kept_with_their_times(tmp_path: Path) -> None:
    frames, host = captured(tmp_path, 0, 200_000_000, 50_000_000, 5)
    ours = [frame for frame in frames if frame[2] == 14 + 28 + 1000]
    assert [step for _time, step, _size, _kept in ours] == [records.SENT, records.RECEIVED] * 5
    assert {kept for *_others, kept in ours} == {60}
    times = [time_ns for time_ns, *_others in ours]
    assert 50_000_000 <= times[0] <= times[-1] < 200_000_000
    assert times == sorted(times)
    assert host["host"] == "one"
    assert (host["to_ns"], host["lost"]) == (200_000_000, 0)
    assert 0 <= host["from_ns"] < 50_000_000  # later than 0 if this thread's machine is busy
    assert host["seen"] >= len(ours)


@needs_capture
def test_what_is_outside_the_window_is_not_kept(tmp_path: Path) -> None:
    frames, host = captured(tmp_path, 100_000_000, 200_000_000, 0, 5)
    assert [frame for frame in frames if frame[2] == 14 + 28 + 1000] == []
    # A busy machine may begin later, and says so.
    assert 100_000_000 <= host["from_ns"] <= 200_000_000


@needs_capture
def test_what_has_no_room_is_counted(tmp_path: Path) -> None:
    frames, host = captured(tmp_path, 0, 400_000_000, 20_000_000, 200, snap_bytes=9216)
    room = 7 * 16  # of blocks of 64 KiB
    assert host["seen"] >= 400
    assert host["lost"] == host["seen"] - room
    assert len(frames) <= room


@needs_capture
def test_an_interface_that_is_not_there_is_named(tmp_path: Path) -> None:
    home_fd = os.open("/proc/self/ns/net", os.O_RDONLY)
    capture: CaptureSpec = {
        "wanted": 1, "from_ns": 0, "to_ns": 1, "limit_bytes": 2**20, "snap_bytes": 60,
    }  # fmt: skip
    with pytest.raises(BuildError, match="one: its frames cannot be captured: No such device"):
        HostCaptures(capture, [CapturedHost("one", ADDRESS, home_fd, "none0")], home_fd)
    many = [CapturedHost(f"h{n}", ADDRESS, home_fd, "lo") for n in range(17)]
    few = "1048576 bytes are too few to capture the frames of 17 hosts, each of which needs 65536"
    with pytest.raises(BuildError, match=few):
        HostCaptures(capture, many, home_fd)
    os.close(home_fd)


@needs_capture
def test_frames_without_headers_of_ethernet_are_not_captured() -> None:
    home_fd = os.open("/proc/self/ns/net", os.O_RDONLY)
    capture: CaptureSpec = {
        "wanted": 1, "from_ns": 0, "to_ns": 1, "limit_bytes": 2**20, "snap_bytes": 60,
    }  # fmt: skip
    try:
        device = os.open("/dev/net/tun", os.O_RDWR)
    except OSError:
        pytest.skip("this machine makes no such interfaces")
    made = fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", b"captured%d", IFF_TUN))
    name = made[:16].rstrip(b"\0").decode()
    with pytest.raises(BuildError, match=f"one: .* {name} has no headers of Ethernet"):
        HostCaptures(capture, [CapturedHost("one", ADDRESS, home_fd, name)], home_fd)
    os.close(device)
    os.close(home_fd)


@needs_capture
def test_only_frames_that_the_filter_lets_through_are_kept_and_counted(tmp_path: Path) -> None:
    own = socket.inet_aton("127.0.0.1")
    other = flow_filter.program([own], [(10, 20)], 60)
    frames, host = captured(tmp_path / "none", 0, 200_000_000, 50_000_000, 5, program=other)
    assert (frames, host["seen"]) == ([], 0)
    discarded = flow_filter.program([own], [(9, 9)], 60)
    frames, host = captured(tmp_path / "ours", 0, 200_000_000, 50_000_000, 5, program=discarded)
    ours = [frame for frame in frames if frame[2] == 14 + 28 + 1000]
    assert len(ours) == 10
    assert {kept for *_others, kept in ours} == {60}
    assert host["seen"] == len(frames)


@needs_capture
def test_a_capture_of_probes_keeps_the_first_bytes_of_all_frames() -> None:
    capture = PacketCapture("lo", 100)
    send(40, 500)
    ours = [frame for frame in capture.take() if len(frame[1]) == 62]
    assert len(ours) >= 80
    send(40, 500)  # the buffer goes round
    assert len(capture.take()) >= 80
    capture.close()
