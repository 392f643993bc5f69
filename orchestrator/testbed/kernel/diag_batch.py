"""Asks many namespaces for the state of their TCP sockets in one system call.

Each question is a request to send it on the namespace's INET_DIAG socket and requests to receive
the answer, which is there at once. All answers are of one instant, as those of single calls are: no
virtual time passes between them.
Source: net/netlink/af_netlink.c (netlink_dump).
"""

from __future__ import annotations

import errno
import os
import struct

from orchestrator.testbed.kernel import io_ring, system
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.kernel.tcpdiag import SOCK_DIAG_BY_FAMILY

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Sequence

    from orchestrator.testbed.kernel.tcpdiag import TcpDiag

_ANSWER_BYTES, _DUMP_BYTES = 4096, 1 << 15
"""Room for one datagram. That of one socket has about 500 bytes; one of a dump at most 32 KiB."""
_MOST_DATAGRAMS = 2
"""That are received at once. A dump ends with a datagram of its own."""
_GROUP = io_ring.MOST_REQUESTS // (1 + _MOST_DATAGRAMS)
_MSG_DONTWAIT, _MSG_TRUNC = 0x40, 0x20
_KIND = struct.Struct("=4xH")  # nlmsg_type of struct nlmsghdr


class DiagBatch:
    """Asks the same question of several TcpDiag at once; only one thread may use it.

    Args:
        probes: whom to ask.
        brief: ask for tcp_info and the congestion control's values only.
    """

    def __init__(self, probes: Sequence[TcpDiag], brief: bool = False) -> None:
        self._groups = [
            _Group(probes[first : first + _GROUP], brief) for first in range(0, len(probes), _GROUP)
        ]

    def answers(self) -> bytes:
        """Return what the probes' ``answers`` or ``brief_answers`` return, one after the other.

        Raises:
            OSError: the kernel refused a request.
        """
        return b"".join([part for group in self._groups for part in group.answers()])


class DiagSequence:
    """Asks one after the other, where the kernel may not permit an io_uring."""

    def __init__(self, probes: Sequence[TcpDiag], brief: bool = False) -> None:
        self._ask = [probe.brief_answers if brief else probe.answers for probe in probes]

    def answers(self) -> bytes:
        """Return the same as a DiagBatch."""
        return b"".join([ask() for ask in self._ask])


class _Group:
    """Probes whose requests fit into one ring."""

    def __init__(self, probes: Sequence[TcpDiag], brief: bool) -> None:
        self._probes = [
            (probe, bytearray(probe.question(brief)), *_datagrams(probe)) for probe in probes
        ]
        self._buffer = bytearray(sum(number * size for _p, _q, number, size in self._probes))
        self._view = memoryview(self._buffer)
        self._count = sum(1 + number for _probe, _question, number, _size in self._probes)
        self._ring = io_ring.Ring(self._count)
        self._places = io_ring.places(range(self._count))
        place, room = 0, system.address_of(self._buffer)
        for probe, question, number, size in self._probes:
            self._ring.prepare(
                place, io_ring.SEND, probe.fileno(), system.address_of(question), len(question),
                operation_flags=_MSG_DONTWAIT, user_data=place,
            )  # fmt: skip
            place += 1
            for _datagram in range(number):
                self._ring.prepare(
                    place, io_ring.RECEIVE, probe.fileno(), room, size,
                    operation_flags=_MSG_DONTWAIT | _MSG_TRUNC, user_data=place,
                )  # fmt: skip
                place, room = place + 1, room + size

    def answers(self) -> Iterator[bytes]:
        self._ring.submit(self._places)
        # They were processed in their order. Linux 6.1 may tell their results in another one.
        by_place = dict(self._ring.consume(self._count))
        if len(by_place) != self._count:
            raise RuntimeError("io_uring told some results twice, and others never")
        results = iter([by_place[place] for place in range(self._count)])
        offset = 0
        for probe, question, number, size in self._probes:
            if (sent := next(results)) != len(question):
                raise _refused(sent)
            complete = False
            for result in [next(results) for _datagram in range(number)]:
                if not complete:
                    if not 0 <= result <= size:
                        raise _refused(result)
                    (kind,) = _KIND.unpack_from(self._buffer, offset)
                    data = bytes(self._view[offset : offset + result])
                    complete = probe.is_single or kind == nl.NLMSG_DONE
                    if kind != nl.NLMSG_ERROR:
                        yield data
                    elif not probe.is_single:  # and else the socket is gone
                        raise nl.dump_refused(SOCK_DIAG_BY_FAMILY, data)
                offset += size
            if not complete:
                yield probe.rest_of_dump()


def _datagrams(probe: TcpDiag) -> tuple[int, int]:
    """Return how many datagrams of an answer are received at once, and room for each in bytes."""
    return (1, _ANSWER_BYTES) if probe.is_single else (_MOST_DATAGRAMS, _DUMP_BYTES)


def _refused(result: int) -> OSError:
    code = -result if result < 0 else errno.EMSGSIZE
    return OSError(code, f"INET_DIAG: {os.strerror(code)}")
