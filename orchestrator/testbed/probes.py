"""Measures the idle network before any flow starts: base RTTs, bottlenecks' rates and queues.

The queue probe sends a burst that overfills the queue: the spacing of what arrives is the rate,
the longest stay is the queue's length. All in simulated time, which costs next to nothing.
"""

import os
import select
import socket
import struct

from . import qdisc, system

ECHO_ATTEMPTS = 12
ECHOES = 3
PROBE_PORT = 4999
PAYLOAD_BYTES = qdisc.FRAME_BYTES - 14 - 20 - 8
_SO_RCVBUFFORCE, _SO_SNDBUFFORCE, _SO_TIMESTAMPNS = 33, 32, 35
_GRACE_NS = 1_000_000_000
_STAMP = struct.Struct("=qq")


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


def round_trip_ns(bed, source, sink, expected_ns):
    """Return the least of a few ICMP round trips from host to host, None when none came back."""
    best, answers = None, 0
    timer = system.Timer()
    with bed.enter(source):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for sequence in range(ECHO_ATTEMPTS):
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
        if answers == ECHOES:
            break
    raw.close()
    return best


def queue_burst(bed, probe):
    """Overfill a queue, a few times when it is short.

    Args:
        bed: the built network.
        probe: {"source", "sink", "packets" of a burst, "rounds", "settle_ns"}; settle_ns is long
            enough for the last packet to arrive.

    Returns:
        {"sent": packets of a burst, "arrivals": [[round, sequence, sent_ns, arrived_ns], ...]}.
    """
    with bed.enter(probe["sink"]):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, probe["packets"] * 4096)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiver.bind((bed.address(probe["sink"]), PROBE_PORT))
    with bed.enter(probe["source"]):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, probe["packets"] * 4096)
        sender.connect((bed.address(probe["sink"]), PROBE_PORT))
    padding = bytes(PAYLOAD_BYTES - _STAMP.size)
    timer = system.Timer()
    arrivals = []
    for number in range(probe["rounds"]):
        for sequence in range(probe["packets"]):
            sender.send(_STAMP.pack(sequence, system.realtime_ns()) + padding)
        timer.sleep_until(system.monotonic_ns() + probe["settle_ns"])
        arrivals += [[number, *arrival] for arrival in _drain(receiver)]
    sender.close()
    receiver.close()
    return {"sent": probe["packets"], "arrivals": arrivals}


def _drain(receiver):
    arrivals = []
    receiver.setblocking(False)
    while True:
        try:
            data, ancillary, _flags, _peer = receiver.recvmsg(_STAMP.size, 64)
        except BlockingIOError:
            return arrivals
        sequence, sent_ns = _STAMP.unpack_from(data)
        seconds, nanoseconds = struct.unpack("=qq", ancillary[0][2])
        arrivals.append([sequence, sent_ns, seconds * 10**9 + nanoseconds])
