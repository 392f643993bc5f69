"""Limits on a sandbox's use of the machine.

setrlimit(2) limits each process on every machine. Where control groups are delegated, ``cgroup.py``
also limits the whole sandbox.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

from orchestrator.errors import MachineError
from orchestrator.files.system_errors import FILE_SIZE_FIX, OPEN_FILES_FIX

MIB = 2**20

GUEST_PROCESSES = 256
"""Processes of a guest without those of flows; fewer than 20 are used. Each is a host process."""

PROCESSES_RESERVE = 2
"""The limit on flows' processes is this multiple of what they need."""

GUEST_OVERHEAD_BYTES = 1024 * MIB
"""Address space beyond twice the guest's memory, for the kernel and libc. 0.3 GiB were measured."""

OPEN_FILES = 16384

GUEST_OPEN_FILES = 52
"""What a guest needs at least: it opens the files of this machine that it reads. So many were
enough for one flow and for 60 pairs of hosts. With fewer its programs lack libraries."""

BUILD_MEMORY_BYTES = 4096 * MIB
BUILD_PROCESSES = 512
BUILD_FILE_BYTES = 512 * MIB
BUILD_TIME_S = 600.0
BUILD_TOTAL_BYTES = 1024 * MIB

KERNEL_BUILD_JOB_BYTES = 1024 * MIB
KERNEL_BUILD_JOB_PROCESSES = 16
KERNEL_BUILD_ADDRESS_BYTES = 8192 * MIB
KERNEL_BUILD_FILE_BYTES = 8192 * MIB
"""With debugging symbols, which a user can configure, vmlinux.o is that large at most."""
KERNEL_BUILD_BYTES = 32 * 1024 * MIB
KERNEL_BUILD_RESERVE_BYTES = 256 * MIB
KERNEL_BUILD_TMP_BYTES = 1024 * MIB
KERNEL_BUILD_PRINTED_BYTES = 64 * MIB
KERNEL_BUILD_TIME_S = 7200.0


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
        """Say what applies: the sandbox keeps a lower limit of this process's own."""
        return self._lowered()._words()

    def _lowered(self) -> Limits:
        """Return these limits, each with this process's hard limit where that is lower."""

        def lower(kind: int, value: int) -> int:
            _soft, hard = resource.getrlimit(kind)
            return value if hard == resource.RLIM_INFINITY else min(value, hard)

        return replace(
            self,
            address_bytes=lower(resource.RLIMIT_AS, self.address_bytes),
            processes=lower(resource.RLIMIT_NPROC, self.processes),
            file_bytes=lower(resource.RLIMIT_FSIZE, self.file_bytes),
            open_files=lower(resource.RLIMIT_NOFILE, self.open_files),
        )

    def _words(self) -> str:
        return (
            f"{_size(self.address_bytes)} of address space a process, "
            f"{self.processes} processes, {_size(self.file_bytes)} a file, "
            f"{self.open_files} open files a process"
        )


def _size(size_bytes: int) -> str:
    gib = 1024 * MIB
    return f"{size_bytes / gib:.1f} GiB" if size_bytes >= gib / 10 else f"{size_bytes} bytes"


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


def require_file_size(memory_bytes: int) -> None:
    """Require that this process's hard limit on the size of files admits a guest's memory.

    Raises:
        MachineError: it is lower.
    """
    _soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard != resource.RLIM_INFINITY and hard < memory_bytes:
        raise MachineError(
            f"a guest's memory is a file of {memory_bytes // MIB} MiB, and this process may write "
            f"{hard} bytes to a file",
            FILE_SIZE_FIX,
        )


def require_open_files(sockets: int = 0, fix: str = OPEN_FILES_FIX) -> None:
    """Require that this process's hard limit on open files admits a guest with so many sockets.

    Raises:
        MachineError: it is lower; with ``fix``.
    """
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = GUEST_OPEN_FILES + sockets
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise MachineError(
            f"a guest needs {needed} open files, and this process may have {hard}", fix
        )


def of_build() -> Limits:
    """Return the limits of a build of a module."""
    return Limits(BUILD_MEMORY_BYTES, BUILD_PROCESSES, BUILD_FILE_BYTES, BUILD_MEMORY_BYTES)


def of_kernel_build(jobs: int) -> Limits:
    """Return the limits of a step of a kernel's build with that many jobs of make."""
    return Limits(
        address_bytes=KERNEL_BUILD_ADDRESS_BYTES,
        processes=BUILD_PROCESSES + jobs * KERNEL_BUILD_JOB_PROCESSES,
        file_bytes=KERNEL_BUILD_FILE_BYTES,
        memory_bytes=BUILD_MEMORY_BYTES + jobs * KERNEL_BUILD_JOB_BYTES,
    )
