"""What a run does differently in a guest's virtual time and on a real machine."""

from __future__ import annotations

import contextlib
import fcntl
import os

from orchestrator.protocol.engines import processes
from orchestrator.protocol.numbering import CHANNEL_ENDS
from orchestrator.protocol.reports import console
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.network.switch import ovs
from orchestrator.testbed.sampling.trace import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from orchestrator.protocol.reports.machine_facts import Machine
    from orchestrator.protocol.specification import AgentSpec, CaptureSpec, TestbedSpec
    from orchestrator.testbed import bed as bed_contract
    from orchestrator.testbed.sampling.host_load import LoadMonitor
    from orchestrator.testbed.sampling.trace import CapturedHost

ORIGIN_GRID_NS = 10_000_000_000
ORIGIN_OFFSET_NS = 333_333
"""Samples and starts are at round times, and so are the kernel's ticks; this separates them."""

_ALIGNED_NS = 1_000_000_000
_SETTLE_NS = 100_000_000
_LEAST_ROUNDS = 3
"""Of a burst probe: the machine may halt during one round."""
_LATE_DATAGRAMS_NS = 100_000_000
"""A run fails if a datagram leaves later than this after its due time. A shorter delay counts as
part of the datagram's delay, and appears as the machine's scheduling delay."""
_SEEDED_NETEM = (6, 6)
"""The first Linux whose netem takes a seed; an older one uses the kernel's common generator."""


class GuestMachine:
    """A guest in virtual time; the whole machine belongs to the bed."""

    echoes = 3
    time_stands_still = True

    def begin(self, spec: TestbedSpec) -> None:
        """Prepare the whole machine, before anything is built."""
        system.prefer_softirqs()
        # All modules are built in or loaded. Each try to find another would be a process.
        write_sysctl("kernel.modprobe", "\n")
        write_sysctl("kernel.dmesg_restrict", 1)  # users' programs need not read the kernel's log
        self.restart_randomness()
        for name, value in spec["global_sysctls"].items():
            write_sysctl(name, value)
        if spec["switches"]:
            ovs.start_daemons()
        # At a fixed time, however long this took: queues' timers (PIE's) count from here.
        system.Timer().sleep_until(ovs.EARLIEST_START_NS)

    def align(self) -> None:
        """Wait for the next whole second, so that timers of queues do not depend on set-up."""
        now_ns = system.monotonic_ns()
        system.Timer().sleep_until((now_ns // _ALIGNED_NS + 1) * _ALIGNED_NS)

    def restart_randomness(self) -> None:
        """Begin a new epoch of the kernel's seeded generator (our guest's patch).

        Later random values depend on the seed alone, and not on how many were drawn before.
        """
        descriptor = os.open("/dev/urandom", os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, system.RNDCLEARPOOL)
        finally:
            os.close(descriptor)

    def trace(
        self,
        capture: CaptureSpec,
        hosts: Sequence[CapturedHost],  # noqa: ARG002 - the kernel knows them
        home_fd: int,  # noqa: ARG002
    ) -> bed_contract.Trace:
        """Return the trace that the guest's kernel makes of the whole network."""
        return Trace(capture)

    def rank_programs(self, spec: TestbedSpec) -> None:
        """Let this process run before the programs of engines, so that sampling changes nothing."""
        if processes(flow["engine"] for flow in spec["flows"]):
            system.rank_before_programs()

    def origin_ns(self) -> int:
        """Return when traffic starts: on a coarse grid of the clock, however long set-up took."""
        soonest = system.monotonic_ns() + _SETTLE_NS
        grid_ns = max(2 * ORIGIN_GRID_NS, -(-soonest // ORIGIN_GRID_NS) * ORIGIN_GRID_NS)
        return grid_ns + ORIGIN_OFFSET_NS

    def watch(self, origin_ns: int, duration_ns: int) -> None:  # noqa: ARG002 - time stands still
        """Let the console show the kernel's warnings: computation takes no time in a guest."""
        system.show_warnings_only(console.BEGINS)

    def leave_to_packets(self) -> None:
        """Do nothing: a guest has one CPU."""

    def among_packets(self) -> AbstractContextManager[None]:
        """Return a context that does nothing: a guest has one CPU."""
        return contextlib.nullcontext()

    def watched(self) -> Mapping[str, Mapping[str, object]]:
        """Return no facts: ``watch`` measures nothing. Later warnings are no part of the run."""
        system.mark_console(console.ENDS)
        return {}


class RealMachine:
    """A real machine in real time; the bed changes nothing of it outside its own namespaces.

    Args:
        host: facts about the machine; ``begin`` adds to them.
        load: measures the machine's load.
    """

    # Each wake-up of the process that waits for an answer may be late. The shortest of three
    # echoes over 100 ms was once 1.8 ms too long on a busy virtual machine.
    echoes = 12
    time_stands_still = False

    def __init__(self, host: Machine, load: LoadMonitor) -> None:
        self._host, self._load = host, load

    def begin(self, spec: TestbedSpec) -> None:
        """Start the switches' daemons, and fit the specification to the machine.

        The lock and the kernel modules, which concern the whole machine, are local.py's part.
        """
        self._host["netem_seeded"] = fit_to_machine(spec)
        for probe in spec["probes"]["bursts"]:
            probe["rounds"] = max(probe["rounds"], _LEAST_ROUNDS)
        if spec["switches"]:
            ovs.start_daemons()

    def align(self) -> None:
        """Do nothing: real time passes anyway."""

    def restart_randomness(self) -> None:
        """Do nothing: the bed may not change the machine's random generator."""

    def trace(
        self, capture: CaptureSpec, hosts: Sequence[CapturedHost], home_fd: int
    ) -> bed_contract.Trace:
        """Return the captures of hosts."""
        from orchestrator.testbed.sampling.host_captures import HostCaptures

        return HostCaptures(capture, hosts, home_fd)

    def rank_programs(self, spec: TestbedSpec) -> None:
        """Do nothing: ``begin`` has given the run's processes their priority."""

    def origin_ns(self) -> int:
        """Return when traffic starts: soon."""
        return system.monotonic_ns() + _SETTLE_NS

    def watch(self, origin_ns: int, duration_ns: int) -> None:
        """Measure the machine's load and the lateness of its timers during that time."""
        self._load.start(origin_ns, duration_ns)

    def leave_to_packets(self) -> None:
        """Move the calling thread, which called ``watch``, away from the packets' CPU."""
        self._load.leave()

    def among_packets(self) -> AbstractContextManager[None]:
        """Return a context in which the sampling thread is back on the packets' CPU."""
        return self._load.among_packets()

    def watched(self) -> Mapping[str, Mapping[str, object]]:
        """Return what was measured, by the names of the facts."""
        return {"host": {**self._host, **self._load.result()}}


def fit_to_machine(spec: TestbedSpec | AgentSpec) -> bool:
    """Change a specification so that it requests only what this machine can do.

    Netems get no seed if the kernel does not know it. Datagrams may be as late as on a real
    machine.

    Returns:
        Whether netems are seeded.
    """
    seeded = system.linux_version() >= _SEEDED_NETEM
    spec["real_time"] = True
    spec["late_datagrams_ns"] = _LATE_DATAGRAMS_NS
    for link in spec["links"]:
        for direction in CHANNEL_ENDS:
            netem = link[direction]["netem"]
            if netem is not None and not seeded:
                netem["settings"] = [
                    setting for setting in netem["settings"] if setting["name"] != "seed"
                ]
    return seeded
