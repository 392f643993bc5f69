"""TCP state of one network namespace over one open INET_DIAG socket: the source of `ss -ti`.

The kernel's answers are written as they come, with their netlink headers. The back end decodes
them, because decoding in a guest costs several times as much.
Source: include/uapi/linux/inet_diag.h.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct

from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Iterator

SOCK_DIAG_BY_FAMILY = 20
SENDER, RECEIVER = 0, 1
_DESTROYED = 1  # SKNLGRP_INET_TCP_DESTROY

_INFO, _CONGESTION_INFO, _CONGESTION_NAME, _MEMORY = 2, 3, 4, 7  # INET_DIAG_*
_BRIEF = sum(1 << (kind - 1) for kind in (_INFO, _CONGESTION_INFO))
_EXTENSIONS = _BRIEF | sum(1 << (kind - 1) for kind in (_CONGESTION_NAME, _MEMORY))
_LISTEN, _TIME_WAIT = 10, 6
_STATES = 0xFFF & ~(1 << _LISTEN) & ~(1 << _TIME_WAIT)
_ANY_COOKIE = bytes([0xFF] * 8)
_PORTS = struct.Struct("!HH")
_BYTECODE = 1  # INET_DIAG_REQ_BYTECODE
_JUMP = struct.Struct("=BBH")  # struct inet_diag_bc_op: code, where to on yes, where to on no
_COMPARE = struct.Struct("=BBHBBH")  # the same, and one that holds the port
_JUMP_TO, _LOCAL_FROM, _LOCAL_TO, _REMOTE_FROM, _REMOTE_TO = 1, 2, 3, 4, 5  # INET_DIAG_BC_*
_REJECT = 4  # beyond the end

_NOTICES, _NOTICE_BYTES = 64, 1024
_MSG_DONTWAIT = 0x40
_MESSAGE = struct.Struct("=QIxxxxQQQQixxxxIxxxx")  # struct mmsghdr
_BUFFER = struct.Struct("=QQ")  # struct iovec

_libc = ctypes.CDLL(None, use_errno=True)


class TcpDiag:
    """Samples the sockets of the namespace in which it was opened.

    Args:
        single: (local port, remote port, own address, peer's address) where one socket is all that
            ``answers`` is to give: an exact request, two system calls and no walk of the sockets.
        many_port: the first client port of many-connection flows. ``many_answers`` gives their
            sockets and ``answers`` leaves them out. None where there are no such flows.
        listening: the first and the last port at which flows listen, where other sockets than
            theirs may be in the namespace. It has no effect together with ``many_port``.

    ``is_single`` tells that the answer is one message.
    """

    def __init__(
        self,
        single: tuple[int, int, str, str] | None = None,
        many_port: int | None = None,
        listening: tuple[int, int] | None = None,
    ) -> None:
        self._netlink = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        self._ask: Callable[[int, bytes], bytes]
        self.is_single = single is not None
        if single is not None:
            self._ask = self._netlink.ask
            chosen = _identity(*single)
        else:
            self._ask = self._netlink.dump_raw
            chosen = bytes(48)
            if many_port is not None:
                chosen += _without(many_port)
            elif listening is not None:
                chosen += _between(*listening)
        self._request = _head(_EXTENSIONS) + chosen
        self._brief_request = _head(_BRIEF) + chosen
        self._many_request = None
        if many_port is not None:
            self._many_request = _head(_EXTENSIONS) + bytes(48) + _only(many_port)

    def close(self) -> None:
        """Close the socket."""
        self._netlink.close()

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._netlink.fileno()

    def question(self, brief: bool) -> bytes:
        """Return the message that asks for ``answers`` or ``brief_answers``; see DiagBatch."""
        body = self._brief_request if brief else self._request
        return nl.message(SOCK_DIAG_BY_FAMILY, 0 if self.is_single else nl.NLM_F_DUMP, body)

    def rest_of_dump(self) -> bytes:
        """Return what has not been received of the answer to a question."""
        return self._netlink.rest_of_dump(SOCK_DIAG_BY_FAMILY)

    def answers(self) -> bytes:
        """Return the answers for all sockets but those of many-connection flows."""
        return self._ask(SOCK_DIAG_BY_FAMILY, self._request)

    def brief_answers(self) -> bytes:
        """Return the same answers with tcp_info and the congestion control's values only."""
        return self._ask(SOCK_DIAG_BY_FAMILY, self._brief_request)

    def many_answers(self) -> bytes:
        """Return the answers for the sockets of many-connection flows."""
        if self._many_request is None:
            return b""
        return self._netlink.dump_raw(SOCK_DIAG_BY_FAMILY, self._many_request)


class ClosedSockets:
    """The last states of sockets that were closed, in any number of namespaces.

    Nothing is asked for that is not there: a system call that fails takes 1 us of virtual time
    (arch/um/kernel/skas/syscall.c), and would move the time of what is watched.
    """

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._sockets: dict[int, nl.Netlink] = {}
        self._places = bytearray(_NOTICE_BYTES * _NOTICES)
        self._buffers = bytearray(_BUFFER.size * _NOTICES)
        self._messages = bytearray(_MESSAGE.size * _NOTICES)
        places, buffers = system.address_of(self._places), system.address_of(self._buffers)
        for n in range(_NOTICES):
            buffer = (places + _NOTICE_BYTES * n, _NOTICE_BYTES)
            _BUFFER.pack_into(self._buffers, _BUFFER.size * n, *buffer)
            message = (0, 0, buffers + _BUFFER.size * n, 1, 0, 0, 0, 0)
            _MESSAGE.pack_into(self._messages, _MESSAGE.size * n, *message)
        self._messages_at = ctypes.c_void_p(system.address_of(self._messages))

    def watch(self) -> None:
        """From now on note what is closed in the thread's namespace."""
        netlink = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        netlink.join(_DESTROYED)
        self._sockets[netlink.fileno()] = netlink
        self._poll.register(netlink.fileno(), select.EPOLLIN)

    def take(self) -> bytes:
        """Return the messages about all that was closed since the last call."""
        parts: list[bytes] = []
        while self._sockets and (ready := self._poll.poll(0)):
            for descriptor, _events in ready:
                parts += self._notices(descriptor)
        return b"".join(parts)

    def _notices(self, descriptor: int) -> Iterator[bytes]:
        count = _libc.recvmmsg(descriptor, self._messages_at, _NOTICES, _MSG_DONTWAIT, None)
        if count < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"sockets that were closed: {os.strerror(code)}")
        for n in range(count):
            size = _MESSAGE.unpack_from(self._messages, _MESSAGE.size * n)[-1]
            yield bytes(self._places[_NOTICE_BYTES * n : _NOTICE_BYTES * n + size])


def _head(extensions: int) -> bytes:
    """Return the begin of struct inet_diag_req_v2, before the socket's identity."""
    return struct.pack("=BBBxI", socket.AF_INET, 6, extensions, _STATES)


def _identity(local: int, remote: int, source: str, destination: str) -> bytes:
    """Return the inet_diag_sockid of one socket."""
    addresses = [socket.inet_aton(address) + bytes(12) for address in (source, destination)]
    return _PORTS.pack(local, remote) + b"".join(addresses) + bytes(4) + _ANY_COOKIE


def _without(port: int) -> bytes:
    """Return the filter for sockets with both ports below ``port``."""
    most = port - 1
    code = _COMPARE.pack(_LOCAL_TO, 8, 16 + _REJECT, 0, 0, most)
    code += _COMPARE.pack(_REMOTE_TO, 8, 8 + _REJECT, 0, 0, most)
    return nl.attribute(_BYTECODE, code)


def _only(port: int) -> bytes:
    """Return the filter for sockets with either port from ``port`` on."""
    code = _COMPARE.pack(_LOCAL_FROM, 8, 12, 0, 0, port)
    code += _JUMP.pack(_JUMP_TO, 4, 12)
    code += _COMPARE.pack(_REMOTE_FROM, 8, 8 + _REJECT, 0, 0, port)
    return nl.attribute(_BYTECODE, code)


def _between(first: int, last: int) -> bytes:
    """Return the filter for sockets with either port from ``first`` to ``last``."""
    # Each line is at its byte: where to on yes and on no is from there; 36 is the end, 40 no.
    code = _COMPARE.pack(_LOCAL_FROM, 8, 20, 0, 0, first)  # 0
    code += _COMPARE.pack(_LOCAL_TO, 8, 12, 0, 0, last)  # 8
    code += _JUMP.pack(_JUMP_TO, 4, 20)  # 16
    code += _COMPARE.pack(_REMOTE_FROM, 8, 16 + _REJECT, 0, 0, first)  # 20
    code += _COMPARE.pack(_REMOTE_TO, 8, 8 + _REJECT, 0, 0, last)  # 28
    return nl.attribute(_BYTECODE, code)
