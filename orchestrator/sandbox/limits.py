"""Limits on a sandbox's use of the machine.

setrlimit(2) limits each process on every machine. Where control groups are delegated, ``cgroup.py``
also limits the whole sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20

GUEST_PROCESSES = 256
"""Processes of a guest without those of flows; fewer than 20 are used. Each is a host process."""

PROCESSES_RESERVE = 2
"""The limit on flows' processes is this multiple of what they need."""

GUEST_OVERHEAD_BYTES = 1024 * MIB
"""Address space beyond twice the guest's memory, for the kernel and libc. 0.3 GiB were measured."""

OPEN_FILES = 16384

BUILD_MEMORY_BYTES = 4096 * MIB
BUILD_PROCESSES = 512
BUILD_FILE_BYTES = 512 * MIB
BUILD_TIME_S = 600.0
BUILD_TOTAL_BYTES = 1024 * MIB


@dataclass(frozen=True)
class Limits:
    """Limits on each process of a sandbox, and on the whole sandbox.

    Attributes:
        address_bytes: address space of each process.
        processes: processes of the sandbox.
        file_bytes: size of each file.
        memory_bytes: memory of the whole sandbox; needs a control group.
        open_files: descriptors of each process.
    """

    address_bytes: int
    processes: int
    file_bytes: int
    memory_bytes: int
    open_files: int = OPEN_FILES

    def __str__(self) -> str:
        gib = 2**30
        return (
            f"{self.address_bytes / gib:.1f} GiB of address space a process, "
            f"{self.processes} processes, {self.file_bytes / gib:.1f} GiB a file, "
            f"{self.open_files} open files a process"
        )


def of_guest(memory_bytes: int, flow_processes: int = 0, output_bytes: int = 2048 * MIB) -> Limits:
    """Return the limits of a guest with that memory, which is also a file.

    ``flow_processes`` is the number that the flows' engines need (``protocol/engines.py``).
    """
    return Limits(
        address_bytes=2 * memory_bytes + GUEST_OVERHEAD_BYTES,
        processes=GUEST_PROCESSES + PROCESSES_RESERVE * flow_processes,
        file_bytes=max(memory_bytes, output_bytes),
        memory_bytes=memory_bytes + GUEST_OVERHEAD_BYTES,
    )


def of_build() -> Limits:
    """Return the limits of a build of a module."""
    return Limits(BUILD_MEMORY_BYTES, BUILD_PROCESSES, BUILD_FILE_BYTES, BUILD_MEMORY_BYTES)
