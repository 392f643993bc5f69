"""Reads many small files that are open, in one system call.

The kernel has no way to read a file of /proc/sys at once for an io_uring, so workers of the kernel
read them. They belong to the thread that submits the requests. That thread ends after a reading, so
no worker is left when traffic runs.
"""

from __future__ import annotations

import os
import threading

from orchestrator.testbed.kernel import io_ring, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

_ROOM_BYTES = 512
"""For each file; a larger one is read once more by itself."""
MOST_BYTES = 4096


def read_all(files: Sequence[int]) -> list[bytes]:
    """Return the content of each open file from its beginning, of 4096 bytes at most.

    Raises:
        OSError: the kernel refused a reading, or does not permit an io_uring.
    """
    contents: list[bytes] = []
    faults: list[OSError] = []

    def run() -> None:
        try:
            for first in range(0, len(files), io_ring.MOST_REQUESTS):
                contents.extend(_read(files[first : first + io_ring.MOST_REQUESTS]))
        except OSError as fault:
            faults.append(fault)

    reader = threading.Thread(target=run)
    reader.start()
    reader.join()
    if faults:
        raise faults[0]
    return contents


def _read(files: Sequence[int]) -> list[bytes]:
    buffer = bytearray(_ROOM_BYTES * len(files))
    begin = system.address_of(buffer)
    ring = io_ring.Ring(len(files))
    for place, file in enumerate(files):
        ring.prepare(
            place, io_ring.READ, file, begin + _ROOM_BYTES * place, _ROOM_BYTES,
            flags=io_ring.BY_WORKER, user_data=place,
        )  # fmt: skip
    ring.submit(io_ring.places(range(len(files))))
    sizes = dict(ring.consume(len(files)))
    ring.close()
    return [_content(file, buffer, place, sizes[place]) for place, file in enumerate(files)]


def _content(file: int, buffer: bytearray, place: int, size: int) -> bytes:
    if size < 0:
        raise OSError(-size, os.strerror(-size))
    if size == _ROOM_BYTES:
        return os.pread(file, MOST_BYTES, 0)
    return bytes(buffer[_ROOM_BYTES * place : _ROOM_BYTES * place + size])
