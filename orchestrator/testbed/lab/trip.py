"""Round trips to another host, by ICMP."""

import errno
import os
import select
import socket
import struct

from .. import system

_HEADER_BYTES = 20
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_TTL_PLACE = 8


def round_trips(source, destination, attempts, patience_s=1.0):
    """Return (shortest time in ns, TTL that answers came with) from address to address.

    Both are None when no echo came back. One request is on its way at a time.
    """
    identity = os.getpid() & 0xFFFF
    best_ns = ttl = None
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.bind((source, 0))
        try:
            raw.connect((destination, 0))
            for sequence in range(attempts):
                sent_ns = system.monotonic_ns()
                raw.send(_request(identity, sequence))
                answer, now_ns = _answer(raw, identity, sequence, sent_ns + patience_s * 1e9)
                if answer is not None and (best_ns is None or now_ns - sent_ns < best_ns):
                    best_ns, ttl = now_ns - sent_ns, answer[_TTL_PLACE]
        except OSError as error:
            if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED):
                raise
    return best_ns, ttl


def _answer(raw, identity, sequence, deadline_ns):
    """Return (packet, when it came) of the echo to that request, (None, None) if none comes."""
    while True:
        left_s = (deadline_ns - system.monotonic_ns()) / 1e9
        if left_s <= 0 or not select.select([raw], [], [], left_s)[0]:
            return None, None
        packet = raw.recv(2048)
        now_ns = system.monotonic_ns()
        kind, _code, _sum, *told = struct.unpack_from("!BBHHH", packet, _HEADER_BYTES)
        if kind == _ECHO_REPLY and told == [identity, sequence]:
            return packet, now_ns


def _request(identity, sequence):
    head = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, identity, sequence)
    total = sum(struct.unpack("!4H", head))
    total = (total >> 16) + (total & 0xFFFF)
    return head[:2] + struct.pack("!H", ~total & 0xFFFF) + head[4:]
