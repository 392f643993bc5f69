"""Measures the idle network before any flow starts: base RTTs, bottlenecks, policers.

The queue probe sends a burst that overfills the queue, and sees when each packet comes to it and
leaves it: the spacing of what leaves is the rate, the longest stay is the queue's length, whatever
the links on the way do to packets. A policer's bucket is emptied again and again: what passes in
between is its rate. All in simulated time, which costs next to nothing.
"""

import os
import select
import socket
import struct

from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.testbed.kernel import system
from orchestrator.testbed.sampling.packet_capture import Tap

PROBE_PORT = 4999
PAYLOAD_BYTES = FRAME_BYTES - 14 - 20 - 8
_SO_SNDBUFFORCE = 32
_GRACE_NS = 1_000_000_000
_PLACE = slice(42, 42 + 8)
"""Of round and number of a probe packet in its frame: behind Ethernet, IP and UDP."""
_STAMP = struct.Struct("=II")
_ETHERTYPE, _PROTOCOL, _PORT = slice(12, 14), 23, slice(36, 38)
_IPV4, _UDP, _PROBE_PORT = b"\x08\x00", 17, struct.pack("!H", PROBE_PORT)


def _checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def _echo_request(identity, sequence):
    body = struct.pack("!HH", identity, sequence) + bytes(8)
    checksum = _checksum(struct.pack("!BBH", 8, 0, 0) + body)
    return struct.pack("!BBH", 8, 0, checksum) + body


def _readable(descriptor, timer, deadline_ns):
    """Wait for data until ``deadline_ns`` without a polling timeout; tell whether it came."""
    timer.arm(deadline_ns)
    ready, _, _ = select.select([descriptor, timer.fd], [], [])
    if timer.fd in ready:
        os.read(timer.fd, 8)
    return descriptor in ready


def round_trip_ns(bed, source, sink, expected_ns, attempts, echoes):
    """Return the least of ``echoes`` ICMP round trips from host to host, None when none came back.

    ``attempts`` are for paths that lose packets.
    """
    best, answers = None, 0
    timer = system.Timer()
    with bed.enter(source):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for sequence in range(max(attempts, echoes)):
        sent = system.monotonic_ns()
        raw.sendto(_echo_request(1, sequence), (bed.address(sink), 0))
        deadline = sent + 2 * expected_ns + _GRACE_NS
        while _readable(raw, timer, deadline):
            answer = raw.recv(256)
            now = system.monotonic_ns()
            if answer[20] == 0 and struct.unpack_from("!H", answer, 26)[0] == sequence:
                best = now - sent if best is None else min(best, now - sent)
                answers += 1
                break
        if answers == echoes:
            break
    raw.close()
    return best


def queue_burst(bed, probe):
    """Overfill a queue, a few times when it is short.

    Args:
        bed: the built network.
        probe: {"channel", "source", "sink", "packets" of a burst, "rounds", "settle_ns"}; settle_ns
            is long enough for the last packet to leave the queue.

    Returns:
        {"came": packets that came to the queue, "passed": [[round, number, came_ns, left_ns], ...]
        of those that left it, in that order}.
    """
    entry, queue, _exit = bed.devices(probe["channel"])
    with system.inside(bed.wires_fd, bed.home_fd):
        taps = [Tap(name, 2 * probe["packets"]) for name in (entry, queue)]
    sender, receiver = _ends(bed, probe)
    padding = bytes(PAYLOAD_BYTES - _STAMP.size)
    timer = system.Timer()
    came, passed = 0, []
    for number in range(probe["rounds"]):
        for sequence in range(probe["packets"]):
            sender.send(_STAMP.pack(number, sequence) + padding)
        timer.sleep_until(system.monotonic_ns() + probe["settle_ns"])
        arrivals, departures = (_of_probes(tap.take()) for tap in taps)
        came += len(arrivals)
        passed += _matched(arrivals, departures)
    for tap in taps:
        tap.close()
    sender.close()
    receiver.close()
    return {"came": came, "passed": passed}


def policer_bursts(bed, probe):
    """Empty a policer's bucket again and again; it is full when this returns.

    Args:
        bed: the built network.
        probe: {"channel", "source", "sink", "packets" of a round, "rounds", "pause_ns" from one to
            the next, "settle_ns" from the last to the end, "queued": whether a queue follows}.

    Returns:
        as ``queue_burst``, of the policer.
    """
    entry, queue, leaving = bed.devices(probe["channel"])
    with system.inside(bed.wires_fd, bed.home_fd):
        room = 2 * probe["packets"] * probe["rounds"]
        taps = [Tap(name, room) for name in (entry, queue if probe["queued"] else leaving)]
    sender, receiver = _ends(bed, probe)
    padding = bytes(PAYLOAD_BYTES - _STAMP.size)
    timer = system.Timer()
    begin_ns = system.monotonic_ns()
    for number in range(probe["rounds"]):
        timer.sleep_until(begin_ns + number * probe["pause_ns"])
        for sequence in range(probe["packets"]):
            sender.send(_STAMP.pack(number, sequence) + padding)
    timer.sleep_until(system.monotonic_ns() + probe["settle_ns"])
    arrivals, departures = (_of_probes(tap.take()) for tap in taps)
    for each in (*taps, sender, receiver):
        each.close()
    return {"came": len(arrivals), "passed": _matched(arrivals, departures)}


def _ends(bed, probe):
    """Return the sockets (that sends, that receives) of a probe."""
    with bed.enter(probe["sink"]):  # for the kernel not to answer that nobody listens
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((bed.address(probe["sink"]), PROBE_PORT))
    with bed.enter(probe["source"]):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, probe["packets"] * 4096)
        sender.connect((bed.address(probe["sink"]), PROBE_PORT))
    return sender, receiver


def _of_probes(frames):
    """Return those of a tap's frames that are packets of probes; no others are taken for them."""
    return [
        (time_ns, frame)
        for time_ns, frame in frames
        if frame[_ETHERTYPE] == _IPV4 and frame[_PROTOCOL] == _UDP and frame[_PORT] == _PROBE_PORT
    ]


def _matched(arrivals, departures):
    """Return [round, number, came_ns, left_ns] of each packet that left, in that order.

    What a link on the way has duplicated leaves in the order in which it came.
    """
    waiting = {}
    for time_ns, frame in arrivals:
        waiting.setdefault(frame[_PLACE], []).append(time_ns)
    return [
        [*_STAMP.unpack(frame[_PLACE]), waiting[frame[_PLACE]].pop(0), time_ns]
        for time_ns, frame in departures
        if waiting.get(frame[_PLACE])
    ]
