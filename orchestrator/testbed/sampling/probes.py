"""Measures the idle network before any flow starts: base RTTs, bottlenecks, policers.

The queue probe sends a burst that overfills the queue, and captures when each packet enters and
leaves the link. The spacing of the packets that leave gives the rate. The longest stay, less the
time behind the queue, gives the queue's length. Neither depends on the other links of the path. The
policer probe empties the policer's bucket repeatedly. What passes in between gives its rate.

No probe depends on what an earlier one left. Each begins in an idle network, in which policers have
the tokens that it needs and AQMs are as new.
"""

from __future__ import annotations

import os
import select
import socket
import struct

from orchestrator.protocol.links.frames import (
    ETHERNET_BYTES,
    ICMP_BYTES,
    IPV4_BYTES,
    UDP_BYTES,
)
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import channels
from orchestrator.testbed.sampling.packet_capture import PacketCapture

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable
    from typing import TypedDict

    from orchestrator.protocol.probe_specification import (
        BurstProbe,
        EndProbe,
        PolicerProbe,
        RoundTripProbe,
    )
    from orchestrator.testbed.bed import Bed, ShapedNetwork

    Frame = tuple[int, bytes]
    Passed = tuple[int, int, int, int]

    class BurstResult(TypedDict):
        """When the packets of bursts came to a link and left it."""

        came: int
        """Number of packets that came to it."""
        passed: list[Passed]
        """(round, number, came_ns, left_ns) of the packets that left it, in that order."""


PROBE_PORT = 4999
_ANSWER_BYTES = 1 << 16
_HEADER_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
_SO_SNDBUFFORCE = 32
_GRACE_NS = 1_000_000_000
_PLACE = slice(42, 42 + 8)
"""Where a probe's frame has round and number: after the headers of Ethernet, IP and UDP."""
_STAMP = struct.Struct("=II")
_ETHERTYPE, _PROTOCOL, _PORT = slice(12, 14), 23, slice(36, 38)
_IPV4, _UDP, _PROBE_PORT = b"\x08\x00", 17, struct.pack("!H", PROBE_PORT)


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def _echo_request(identity: int, sequence: int, frame_bytes: int) -> bytes:
    data = bytes(frame_bytes - ETHERNET_BYTES - IPV4_BYTES - ICMP_BYTES)
    body = struct.pack("!HH", identity, sequence) + data
    checksum = _checksum(struct.pack("!BBH", 8, 0, 0) + body)
    return struct.pack("!BBH", 8, 0, checksum) + body


def _readable(raw: socket.socket, timer: system.Timer, deadline_ns: int) -> bool:
    """Wait for data until ``deadline_ns``, on a timer descriptor; tell whether data came."""
    timer.arm(deadline_ns)
    poll = select.poll()  # select() takes no descriptor from 1024 on, as of a network of many hosts
    for descriptor in (raw.fileno(), timer.fd):
        poll.register(descriptor, select.POLLIN)
    ready = [descriptor for descriptor, _event in poll.poll()]
    if timer.fd in ready:
        os.read(timer.fd, 8)
    return raw.fileno() in ready


def round_trip_ns(bed: Bed, probe: RoundTripProbe | EndProbe, echoes: int) -> int | None:
    """Return the shortest of ``echoes`` ICMP round trips between two hosts.

    On paths that lose packets, up to the probe's ``attempts`` requests are sent. Before each one
    the policers on the way get tokens for it. None means that no answer came back.
    """
    best, answers = None, 0
    sink = bed.address(probe["sink"])
    timer = system.Timer()
    with bed.enter(probe["source"]):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        raw.bind((bed.address(probe["source"]), 0))
    for sequence in range(max(probe["attempts"], echoes)):
        if probe["fill_ns"]:
            timer.sleep_until(system.monotonic_ns() + probe["fill_ns"])
        sent = system.monotonic_ns()
        raw.sendto(_echo_request(1, sequence, probe["frame_bytes"]), (sink, 0))
        deadline = sent + 2 * probe["expected_ns"] + _GRACE_NS
        while _readable(raw, timer, deadline):
            answer = raw.recv(_ANSWER_BYTES)
            now = system.monotonic_ns()
            if answer[20] == 0 and struct.unpack_from("!H", answer, 26)[0] == sequence:
                best = now - sent if best is None else min(best, now - sent)
                answers += 1
                break
        if answers == echoes:
            break
    raw.close()
    return best


def queue_burst(bed: Bed, probe: BurstProbe) -> BurstResult:
    """Overfill a queue in each of the probe's rounds, and return when packets passed the link.

    The probe's ``settle_ns`` is long enough for the last packet to leave the link. A queue that is
    no FIFO forgets in each round what came before.
    """
    timer = system.Timer()
    timer.sleep_until(system.monotonic_ns() + probe["fill_ns"])
    with system.inside(bed.wires_fd, bed.home_fd):
        ends = _devices(bed, probe["channel"])
        captures = [PacketCapture(name, 2 * probe["packets"]) for name in ends]
    sender, receiver = _ends(bed, probe)
    padding = bytes(probe["frame_bytes"] - _HEADER_BYTES - _STAMP.size)
    came = 0
    passed: list[Passed] = []
    for number in range(probe["rounds"]):
        channels.reset_queue(bed, probe["channel"])
        for sequence in range(probe["packets"]):
            sender.send(_STAMP.pack(number, sequence) + padding)
        timer.sleep_until(system.monotonic_ns() + probe["settle_ns"])
        arrivals, departures = (_of_probes(capture.take()) for capture in captures)
        came += len(arrivals)
        passed += _matched(arrivals, departures)
    _close(*captures, sender, receiver)
    return {"came": came, "passed": passed}


def policer_bursts(bed: Bed, probe: PolicerProbe) -> BurstResult:
    """Empty a policer's bucket in each of the probe's rounds, and return when packets passed.

    The bucket is full at the first burst, because of the probe's ``fill_ns``, and when this
    returns, because of its ``settle_ns``.
    """
    timer = system.Timer()
    timer.sleep_until(system.monotonic_ns() + probe["fill_ns"])
    with system.inside(bed.wires_fd, bed.home_fd):
        room = 2 * probe["packets"] * probe["rounds"]
        captures = [PacketCapture(name, room) for name in _devices(bed, probe["channel"])]
    sender, receiver = _ends(bed, probe)
    padding = bytes(probe["frame_bytes"] - _HEADER_BYTES - _STAMP.size)
    begin_ns = system.monotonic_ns()
    for number in range(probe["rounds"]):
        timer.sleep_until(begin_ns + number * probe["pause_ns"])
        for sequence in range(probe["packets"]):
            sender.send(_STAMP.pack(number, sequence) + padding)
    timer.sleep_until(system.monotonic_ns() + probe["settle_ns"])
    arrivals, departures = (_of_probes(capture.take()) for capture in captures)
    _close(*captures, sender, receiver)
    return {"came": len(arrivals), "passed": _matched(arrivals, departures)}


def _close(*opened: PacketCapture | socket.socket) -> None:
    for resource in opened:
        resource.close()


def _devices(bed: ShapedNetwork, channel: str) -> list[str]:
    """Return the names of the devices by which packets enter and leave a channel."""
    link_name, direction = link_and_direction(channel)
    return [bed.links[link_name].device(end)[0] for end in CHANNEL_ENDS[direction]]


def _ends(bed: Bed, probe: BurstProbe | PolicerProbe) -> tuple[socket.socket, socket.socket]:
    """Return the sockets (that sends, that receives) of a probe."""
    with bed.enter(probe["sink"]):  # a closed port would answer with ICMP errors
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((bed.address(probe["sink"]), PROBE_PORT))
    with bed.enter(probe["source"]):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(
            socket.SOL_SOCKET, _SO_SNDBUFFORCE, probe["packets"] * (probe["frame_bytes"] + 2582)
        )
        sender.bind((bed.address(probe["source"]), 0))
        sender.connect((bed.address(probe["sink"]), PROBE_PORT))
    return sender, receiver


def _of_probes(frames: Iterable[Frame]) -> list[Frame]:
    """Return those of the captured frames that are packets of probes."""
    return [
        (time_ns, frame)
        for time_ns, frame in frames
        if frame[_ETHERTYPE] == _IPV4 and frame[_PROTOCOL] == _UDP and frame[_PORT] == _PROBE_PORT
    ]


def _matched(arrivals: Iterable[Frame], departures: Iterable[Frame]) -> list[Passed]:
    """Return (round, number, came_ns, left_ns) of each packet that left, in that order.

    Duplicates of a packet leave in the order in which they came.
    """
    waiting: dict[bytes, list[int]] = {}
    for time_ns, frame in arrivals:
        waiting.setdefault(frame[_PLACE], []).append(time_ns)
    return [
        (*_stamp(frame), waiting[frame[_PLACE]].pop(0), time_ns)
        for time_ns, frame in departures
        if waiting.get(frame[_PLACE])
    ]


def _stamp(frame: bytes) -> tuple[int, int]:
    """Return (round, number) of a probe's frame."""
    round_number, number = _STAMP.unpack(frame[_PLACE])
    return round_number, number
