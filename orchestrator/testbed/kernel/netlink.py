"""Netlink messages in and out of this process: no `ip`, `tc` or `ss` is ever executed.

A forked tool costs milliseconds in the guest where a system call costs microseconds, so
requests are gathered and sent together. The kernel handles them in their order, answers each one
that it refuses, and acknowledges the last one.
Source: include/uapi/linux/netlink.h.
"""

from __future__ import annotations

import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator

    Payload = bytes | bytearray | str | list[bytes] | tuple[bytes, ...]

NETLINK_ROUTE = 0
NETLINK_SOCK_DIAG = 4
NLMSG_ERROR = 2
NLMSG_DONE = 3
NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_ECHO = 0x8
NLM_F_DUMP = 0x300
NLM_F_REPLACE = 0x100
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
NLA_F_NESTED = 0x8000
NLA_TYPE_MASK = 0x3FFF
SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
NETLINK_CAP_ACK = 10
NETLINK_EXT_ACK = 11
_SO_RCVBUFFORCE = 33

_HEADER = struct.Struct("=IHHII")
HEADER_BYTES = _HEADER.size
_ATTRIBUTE = struct.Struct("=HH")
_RECEIVE_BYTES = 1 << 18
_BATCH_BYTES = 1 << 15


class NetlinkError(OSError):
    """The kernel refused a request; the message names the request and the kernel's reason."""


def attribute(kind: int, payload: Payload) -> bytes:
    """Return one attribute: ``payload`` is bytes, a str (zero-terminated) or a list (nested)."""
    if isinstance(payload, str):
        payload = payload.encode() + b"\0"
    elif isinstance(payload, (list, tuple)):
        payload = b"".join(payload)
    length = 4 + len(payload)
    return _ATTRIBUTE.pack(length, kind) + payload + bytes(-length % 4)


def u32(kind: int, value: int) -> bytes:
    """Return an attribute of four bytes."""
    return attribute(kind, struct.pack("=I", value))


def parse_attributes(data: bytes, offset: int = 0, end: int | None = None) -> dict[int, bytes]:
    """Return {type: payload} of the attributes in ``data[offset:end]``."""
    spans = attribute_spans(data, offset, len(data) if end is None else end)
    return {kind: data[start:stop] for kind, (start, stop) in spans.items()}


def attribute_spans(data: bytes, offset: int, end: int) -> dict[int, tuple[int, int]]:
    """Return {type: (start, end of its payload)} of the attributes in ``data[offset:end]``."""
    spans = {}
    while offset + 4 <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < 4:
            break
        spans[kind & NLA_TYPE_MASK] = (offset + 4, offset + length)
        offset += (length + 3) & ~3
    return spans


class Netlink:
    """One netlink socket in the network namespace of the thread that opens it.

    Args:
        protocol: NETLINK_*.
        buffer: where answers are received; sockets of one thread may share one. None makes one.
    """

    def __init__(self, protocol: int = NETLINK_ROUTE, buffer: memoryview | None = None) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        # Beyond net.core.rmem_max: what a batch is answered with comes in before any is read.
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 23)
        self._socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self._socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        self._socket.bind((0, 0))
        self._sequence = 0
        self._queued: list[tuple[int, int, bytes, str]] = []
        # One buffer for good: recv() would map, fault in and unmap a new one for every message.
        self._buffer = receive_buffer() if buffer is None else buffer

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _receive(self) -> bytes:
        """Return the next datagram as bytes."""
        return bytes(self._buffer[: self._socket.recv_into(self._buffer)])

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def join(self, group: int) -> None:
        """Receive what the kernel multicasts to that group."""
        self._socket.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)

    def queue(self, kind: int, flags: int, body: bytes, what: str) -> None:
        """Gather a request; ``what`` names it in the error should the kernel refuse it."""
        self._queued.append((kind, flags | NLM_F_REQUEST, body, what))

    def flush(self) -> None:
        """Send what was gathered, in order.

        Raises:
            NetlinkError: the first refusal of a batch, when the kernel has handled all of it.
        """
        queued, self._queued = self._queued, []
        batch, names = [], {}
        size = 0
        for number, (kind, flags, body, what) in enumerate(queued, start=1):
            self._sequence += 1
            names[self._sequence] = what
            size += HEADER_BYTES + len(body)
            is_last = size > _BATCH_BYTES or number == len(queued)
            batch.append(message(kind, flags | (NLM_F_ACK if is_last else 0), body, self._sequence))
            if is_last:
                self._exchange(batch, names)
                batch, names, size = [], {}, 0

    def _exchange(self, batch: list[bytes], names: dict[int, str]) -> None:
        """Send a batch, and receive what it is answered with until the last request is."""
        self._socket.send(b"".join(batch))
        refusal, last, answered = None, self._sequence, 0
        while answered != last:
            data = self._receive()
            for kind, flags, sequence, start, end in messages(data):
                if kind != NLMSG_ERROR or sequence not in names:
                    continue
                answered = sequence
                code = -struct.unpack_from("=i", data, start)[0]
                if code and refusal is None:
                    reason = _extended_reason(data, flags, start, end)
                    text = f"{names[sequence]}: {reason or os.strerror(code)}"
                    refusal = NetlinkError(code, text)
        if refusal is not None:
            raise refusal

    def request(self, kind: int, flags: int, body: bytes, what: str) -> None:
        """Send one request now and wait for its acknowledgement."""
        self.queue(kind, flags, body, what)
        self.flush()

    def ask(self, kind: int, body: bytes, flags: int = 0) -> bytes:
        """Send a request that one message answers; return it, or nothing when it is refused."""
        self._sequence += 1
        self._socket.send(message(kind, flags, body, self._sequence))
        while True:
            data = self._receive()
            _length, answer, _flags, sequence, _port = _HEADER.unpack_from(data)
            if sequence == self._sequence:
                return b"" if answer == NLMSG_ERROR else data

    def dump_raw(self, kind: int, body: bytes) -> bytes:
        """Return a dump's answer as one buffer, NLMSG_DONE included.

        Raises:
            NetlinkError: the kernel refused it.
        """
        self._sequence += 1
        self._socket.send(message(kind, NLM_F_DUMP, body, self._sequence))
        return self.rest_of_dump(kind)

    def rest_of_dump(self, kind: int) -> bytes:
        """Return what has not been received of a dump's answer, as ``dump_raw`` does."""
        parts = []
        while True:
            parts.append(self._receive())
            answer = _HEADER.unpack_from(parts[-1])[1]
            if answer == NLMSG_ERROR:
                raise dump_refused(kind, parts[-1])
            if answer == NLMSG_DONE:
                return b"".join(parts)

    def dump(self, kind: int, body: bytes) -> Iterator[tuple[int, bytes, int, int]]:
        """Yield (message type, buffer, start, end) of every message that a dump answers with."""
        self._sequence += 1
        self._socket.send(message(kind, NLM_F_DUMP, body, self._sequence))
        while True:
            data = self._receive()
            for answer, _flags, sequence, start, end in messages(data):
                if sequence != self._sequence:
                    continue
                if answer == NLMSG_DONE:
                    return
                if answer == NLMSG_ERROR:
                    code = -struct.unpack_from("=i", data, start)[0]
                    raise NetlinkError(code, f"dump {kind}: {os.strerror(code)}")
                yield answer, data, start, end


def receive_buffer() -> memoryview:
    """Return a buffer for the largest datagram of the kernel's."""
    return memoryview(bytearray(_RECEIVE_BYTES))


def message(kind: int, flags: int, body: bytes, sequence: int = 0) -> bytes:
    """Return a request as it is sent."""
    return _HEADER.pack(16 + len(body), kind, NLM_F_REQUEST | flags, sequence, 0) + body


def dump_refused(kind: int, answer: bytes) -> NetlinkError:
    """Return the error of a dump that was answered by NLMSG_ERROR."""
    code = -struct.unpack_from("=i", answer, _HEADER.size)[0]
    return NetlinkError(code, f"dump {kind}: {os.strerror(code)}")


def messages(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (type, flags, sequence, payload start, payload end) of each message in ``data``."""
    offset = 0
    while offset + 16 <= len(data):
        length, kind, flags, sequence, _port = _HEADER.unpack_from(data, offset)
        if length < 16:
            return
        yield kind, flags, sequence, offset + 16, offset + length
        offset += (length + 3) & ~3


def _extended_reason(data: bytes, flags: int, start: int, end: int) -> str:
    """Return the kernel's own words (NLMSGERR_ATTR_MSG) of a refusal, or an empty string."""
    if not flags & 0x200:  # NLM_F_ACK_TLVS
        return ""
    offset = start + 4 + 16
    if not flags & 0x100:  # not NLM_F_CAPPED: the request follows whole
        offset = start + 4 + ((struct.unpack_from("=I", data, start + 4)[0] + 3) & ~3)
    message = parse_attributes(data, offset, end).get(1, b"")
    return bytes(message).rstrip(b"\0").decode(errors="replace")
