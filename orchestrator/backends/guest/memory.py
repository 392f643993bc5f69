"""Checks that this machine has the memory that guests may use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.kinds.tcp import KERNELS_OWN
from orchestrator.planning.runspec import RunSpec, at_most, guest_memory_bytes

_KERNELS_BUFFERS_BYTES = 4608 * 2**20
"""Linux's own limits of socket buffers are lower below 4 GiB of memory for buffers: tcp_init() of
net/ipv4/tcp.c takes at most 1/128 of it."""
_BASE_HOSTS, _HOST_BYTES = 100, 2**19
"""The base of a guest's memory is enough for so many hosts. Each other one has a namespace, and
sockets and files that the test bed keeps in it: a guest of 2000 hosts ran out of 1.7 GB."""
_MEMINFO = Path("/proc/meminfo")


def memory_bytes(run: RunSpec) -> int:
    """Return the size of the guest's memory for a run, in bytes, without that for a trace."""
    needed = guest_memory_bytes(at_most(run.network, run.events), len(run.flows))
    own = any(KERNELS_OWN in settings.sysctls.values() for settings in run.hosts.values())
    return max(needed, _KERNELS_BUFFERS_BYTES) if own else needed


def boot_memory_bytes(run: RunSpec) -> int:
    """Return the size with which the guest of a run is booted: hosts and a trace are kept in it.

    What the run sets by its memory does not depend on them, so that the run is the same.
    """
    trace_bytes = 0 if run.capture is None else run.capture.limit_bytes
    hosts_bytes = max(0, len(run.network.hosts) - _BASE_HOSTS) * _HOST_BYTES
    return memory_bytes(run) + hosts_bytes + trace_bytes


def require_memory(runs: Sequence[RunSpec], jobs: int) -> None:
    """Raise MachineError when the guests of ``jobs`` runs may need more memory than is available.

    A guest takes memory when it first uses it, and is killed when none is left.
    """
    guests, needed, available = min(jobs, len(runs)), _needed_bytes(runs, jobs), available_bytes()
    if needed <= available:
        return
    several = f"{guests} guests at a time" if guests > 1 else "the guest"
    fewer = "fewer --jobs, " if guests > 1 else ""
    raise MachineError(
        f"{several} may need {needed / 2**30:.1f} GiB of memory for what is in flight and queued, "
        f"and {available / 2**30:.1f} GiB is available",
        f"free memory, or request less: {fewer}smaller queues, a lower rate or shorter delays",
    )


def fits(runs: Sequence[RunSpec], guests: int) -> bool:
    """Whether so many of the runs' guests at a time fit into the available memory."""
    return _needed_bytes(runs, guests) <= available_bytes()


def _needed_bytes(runs: Sequence[RunSpec], guests: int) -> int:
    return sum(sorted(map(boot_memory_bytes, runs), reverse=True)[:guests])


def available_bytes() -> int:
    """Return the memory that is available on this machine without swapping."""
    for line in _MEMINFO.read_text(encoding="ascii").splitlines():
        name, _colon, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    raise MachineError(
        "/proc/meminfo has no value for the available memory", "use Linux 3.14 or later"
    )
