"""The filter of a lab host's captures, as the kernel runs it on frames."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence

import pytest

from orchestrator.testbed.kernel import system
from orchestrator.testbed.lab.flow_filter import program

_SO_ATTACH_FILTER = 26
PEER, OTHER, OWN = (socket.inet_aton(address) for address in ("10.2.0.2", "10.2.0.9", "10.1.0.1"))
PORTS = [(5001, 5001), (5003, 5005)]


def frame(
    source: bytes = OWN, sink: bytes = PEER, ports: tuple[int, int] = (35001, 5001),
    protocol: int = 6, options: int = 0, kind: int = 0x0800, fragment: int = 0,
) -> bytes:  # fmt: skip
    head = struct.pack(">BBHHHBBH", 0x45 + options // 4, 0, 100, 1, fragment, 64, protocol, 0)
    ip = head + source + sink + bytes(options)
    return bytes(12) + struct.pack(">H", kind) + ip + struct.pack(">HH", *ports) + bytes(60)


def passed(steps: Sequence[bytes], frames: Sequence[bytes]) -> Iterator[bytes]:
    """Yield what the kernel lets through of frames, each cut to what is kept."""
    instructions = bytearray(b"".join(steps))
    given, taken = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with given, taken:
        value = struct.pack("@HP", len(steps), system.address_of(instructions))
        taken.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, value)
        taken.setblocking(False)
        for each in frames:
            given.send(each)
            try:
                yield taken.recv(2000)
            except BlockingIOError:  # the filter refused it
                continue


def is_passed(one: bytes) -> bool:
    return bool(list(passed(program([PEER], PORTS, 1000), [one])))


@pytest.mark.parametrize(
    "one",
    [
        frame(),
        frame(PEER, OWN, (5001, 35001)),
        frame(protocol=17, ports=(35001, 5003)),
        frame(ports=(5005, 40000)),
        frame(ports=(1, 5004), options=40),
        frame(fragment=0x2000),  # the first one
        frame(fragment=0x4000),  # may not be fragmented
    ],
)
def test_frames_of_flows_are_kept(one: bytes) -> None:
    assert is_passed(one)


@pytest.mark.parametrize(
    "one",
    [
        frame(sink=OTHER),
        frame(OTHER, OWN, (5001, 35001)),
        frame(ports=(35001, 5002)),
        frame(ports=(35001, 5000)),
        frame(ports=(5006, 22)),
        frame(protocol=1),
        frame(kind=0x0806),
        frame(kind=0x86DD),
        frame(fragment=0x2001),
        frame()[:20],
        b"",
    ],
)
def test_frames_of_others_are_not(one: bytes) -> None:
    assert not is_passed(one)


def test_so_much_is_kept_of_a_frame_as_is_asked_for() -> None:
    steps = program([OTHER, PEER], PORTS, 38)
    assert list(passed(steps, [frame(), frame(sink=OTHER)])) == [
        frame()[:38], frame(sink=OTHER)[:38],
    ]  # fmt: skip


def test_many_ranges_and_peers_are_no_matter_until_the_kernel_takes_no_more() -> None:
    peers = [bytes((10, 9, n // 250, n % 250)) for n in range(400)]
    ports = [(n, n) for n in range(2, 802, 2)]
    steps = program([*peers, PEER], ports, 1000)
    for port, is_kept in ((2, True), (3, False), (800, True), (801, False)):
        assert bool(list(passed(steps, [frame(ports=(9999, port))]))) is is_kept
    with pytest.raises(ValueError, match="are too many"):
        program(peers, [(n, n) for n in range(2, 2002, 2)], 1000)
