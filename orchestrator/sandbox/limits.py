"""How much of the machine a sandbox may take, process by process.

These are limits of setrlimit(2), which hold everywhere. Where control groups are delegated,
``cgroup.py`` bounds the whole sandbox, too.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20

GUEST_PROCESSES = 256
"""A guest has one process of the host for each of its own; a run without iperf3 has under 20."""

PROCESSES_A_FLOW = 4
"""iperf3 has two of its own for each flow."""

GUEST_OVERHEAD_BYTES = 1024 * MIB
"""Address space beside the guest's memory: the kernel itself, libc, and the same memory mapped
once more by each process of the guest. Measured: 0.3 GiB."""

OPEN_FILES = 16384

BUILD_MEMORY_BYTES = 4096 * MIB
BUILD_PROCESSES = 512
BUILD_FILE_BYTES = 512 * MIB
BUILD_TIME_S = 600.0
BUILD_TOTAL_BYTES = 1024 * MIB


@dataclass(frozen=True)
class Limits:
    """What each process of a sandbox may take, and all of them.

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


def of_guest(memory_bytes: int, flows: int = 0, output_bytes: int = 2048 * MIB) -> Limits:
    """Return the bounds of a guest with that memory, which is a file, too."""
    return Limits(
        address_bytes=2 * memory_bytes + GUEST_OVERHEAD_BYTES,
        processes=GUEST_PROCESSES + PROCESSES_A_FLOW * flows,
        file_bytes=max(memory_bytes, output_bytes),
        memory_bytes=memory_bytes + GUEST_OVERHEAD_BYTES,
    )


def of_build() -> Limits:
    """Return the bounds of a build of a module."""
    return Limits(BUILD_MEMORY_BYTES, BUILD_PROCESSES, BUILD_FILE_BYTES, BUILD_MEMORY_BYTES)
