"""Sends datagrams at exact times, hundreds in each system call, over io_uring.

System calls are the largest cost in the guest. A sleep and a send for each packet take three times
the CPU time of a chain of requests that the kernel processes by itself. In the chain, a wait until
the packet's absolute time precedes each packet. The wait polls a descriptor that never becomes
ready, and a linked timeout ends it. (A timeout alone would wake the caller every time.)
Source: include/uapi/linux/io_uring.h, io_uring/timeout.c.
"""

from __future__ import annotations

import os
import struct

from orchestrator.protocol.links.frames import MOST_MTU_BYTES
from orchestrator.testbed.kernel import io_ring, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence
    from typing import TypeAlias, TypeVar

    Owner = TypeVar("Owner")
    Packet: TypeAlias = tuple[int, int, int, int, Owner]
    """(time in ns of the monotonic clock, descriptor of a connected socket, sequence number, bytes
    of payload, the sender's own)."""

BATCH = 256
_SLOT_BYTES = 2048
"""From the beginning of one payload to that of the next one.

A larger payload has the headers of later ones in it, which nobody reads there.
"""

HEADER = struct.Struct("=qq")
"""A payload begins with this: sequence number, and due time on the monotonic clock in ns."""

_POLLIN, _TIMEOUT_ABS, _MSG_DONTWAIT = 1, 1, 0x40
_STEPS = 3
_TIME = struct.Struct("=qq")


class TimedSender:
    """A ring of packets; only one thread may call ``send``."""

    def __init__(self) -> None:
        self._ring = io_ring.Ring(_STEPS * BATCH)
        self._places = io_ring.places(range(_STEPS * BATCH))
        self._payloads = bytearray(_SLOT_BYTES * BATCH + MOST_MTU_BYTES)
        self._payloads_at = system.address_of(self._payloads)
        self._times = bytearray(_TIME.size * BATCH)
        self._prepare_waits()

    def _prepare_waits(self) -> None:
        """Write the requests of each packet's wait, which never change."""
        never, times = os.eventfd(0), system.address_of(self._times)
        for index in range(BATCH):
            self._ring.prepare(
                _STEPS * index, io_ring.POLL_ADD, never, 0, 0,
                flags=io_ring.HARD_LINK, operation_flags=_POLLIN,
            )  # fmt: skip
            self._ring.prepare(
                _STEPS * index + 1, io_ring.LINK_TIMEOUT, -1, times + _TIME.size * index, 1,
                flags=io_ring.HARD_LINK, operation_flags=_TIMEOUT_ABS,
            )  # fmt: skip

    def sent_packets(self) -> int:
        """Return how many packets of the current batch have been sent."""
        return self._ring.completed() // _STEPS

    def send(self, packets: Sequence[Packet[Owner]]) -> list[tuple[Packet[Owner], int]]:
        """Send each packet at its time; return when all have been sent.

        Args:
            packets: at most BATCH, in the order of their times.

        Returns:
            (packet, errno) of each packet that the kernel refused.
        """
        for index, (time_ns, descriptor, sequence, size_bytes, _owner) in enumerate(packets):
            _TIME.pack_into(self._times, _TIME.size * index, *divmod(time_ns, 10**9))
            HEADER.pack_into(self._payloads, _SLOT_BYTES * index, sequence, time_ns)
            link = io_ring.HARD_LINK if index < len(packets) - 1 else 0
            payload = self._payloads_at + _SLOT_BYTES * index
            # Written here: a call for each packet would show in the run's wall time.
            io_ring.REQUEST.pack_into(
                self._ring.requests, io_ring.REQUEST.size * (_STEPS * index + 2),
                io_ring.SEND, link, 0, descriptor, 0, payload, size_bytes, _MSG_DONTWAIT, index + 1,
            )  # fmt: skip
        steps = _STEPS * len(packets)
        self._ring.submit(self._places[:steps])
        ended = self._ring.consume(steps)
        return [(packets[index - 1], -code) for index, code in ended if index and code < 0]
