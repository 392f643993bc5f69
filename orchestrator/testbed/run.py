"""A run of a whole network, in a guest or on this machine."""

from __future__ import annotations

import resource
import runpy
import socket

from orchestrator.testbed import sequence
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import build, channels, host_state, readback
from orchestrator.testbed.network.queues import packet_counters, thresholds
from orchestrator.testbed.sampling import after_traffic, idle, probes
from orchestrator.testbed.sampling.trace import CapturedHost, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Mapping

    from orchestrator.protocol.specification import TestbedSpec
    from orchestrator.testbed import bed
    from orchestrator.testbed.bed import LoadWatch, Machine
    from orchestrator.testbed.sampling.records import Records

_MOST_FILES = 1 << 18


def run(spec: TestbedSpec, records: Records, machine: Machine) -> None:
    """Run the specification's experiment; everything that is found goes to ``records``.

    Args:
        spec: the specification; planned steps change it.
        records: where samples and facts go.
        machine: one of machines.py.
    """
    sequence.run(_WholeNetwork(spec, records, machine), records)


class _WholeNetwork:
    """The environment of a run whose network is all in this process; see bed.Environment."""

    def __init__(self, spec: TestbedSpec, records: Records, machine: Machine) -> None:
        self._spec, self._records, self._machine = spec, records, machine
        self._bed: build.Bed
        self._host_states: host_state.HostStates
        self._packets: packet_counters.PacketCounters
        self.load: LoadWatch = machine

    def build(self) -> build.Bed:
        """Prepare the machine, build the network and return it."""
        self._machine.begin(self._spec)
        # Each host takes a few descriptors, of its namespace and of sockets in it.
        resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))
        readback.verify_modules(self._spec)
        self._bed = build.Bed(self._spec, self._records)
        self._bed.build()
        self._host_states = host_state.HostStates(self._bed)
        self._packets = packet_counters.PacketCounters(self._bed, self._machine.time_stands_still)
        return self._bed

    def versions(self) -> Mapping[str, object]:
        """Return the versions of kernel, Mininet, Open vSwitch and the flows' programs."""
        return readback.versions(self._spec["flows"], self._bed.openvswitch)

    def probe_before_engines(self) -> None:
        """Measure the idle network, set the start thresholds and reset the queues."""
        self._run_hook()
        self._probe()
        thresholds.make_known(self._bed)
        self._fill_policers()
        self._machine.align()
        channels.reset_queues(self._bed)
        self._machine.rank_programs(self._spec)

    def queue_devices(self) -> Mapping[str, object]:
        """Return nothing: the numbering of devices is known to the controller."""
        return {}

    def probe_before_traffic(self) -> None:
        """Count the packets of set-up and probes, which are no part of the run."""
        self._count_packets("start")

    def interfaces(self) -> Mapping[str, object]:
        """Return counters and offloads of all interfaces."""
        return readback.interfaces(self._bed)

    def host_state(self, when: str) -> Mapping[str, object]:
        """Compare interfaces, routes and sysctls of all namespaces with the request."""
        return self._host_states.fact(when)

    def sysctls(self) -> Mapping[str, object]:
        """Return the kernel's sysctls, and those of every host."""
        return readback.sysctls(self._host_states.sysctls)

    def trace(self) -> bed.Trace:
        """Return what traces packets and connections as the specification says, if anything."""
        capture = self._spec.get("capture")
        if capture is None:
            return Trace(None)
        hosts = [
            CapturedHost(
                host["name"],
                socket.inet_aton(host["address"]),
                self._bed.host(host["name"]).namespace_fd,
                self._bed.interfaces[host["name"]].name,
            )
            for host in self._spec["hosts"]
            if host["peers"]
        ]
        return self._machine.trace(capture, hosts, self._bed.home_fd)

    def await_origin_ns(self) -> int:
        """Restart the random generator, begin to spray, and return when traffic starts."""
        self._machine.restart_randomness()
        self._bed.begin_spraying()
        return self._machine.origin_ns()

    def measure_after_traffic(self) -> None:
        """Count packets, and report wrong checksums where channels corrupt packets."""
        self._count_packets("end")
        for sprayed in self._bed.sprayed():
            self._records.fact("sprayed", **sprayed)
        if build.corrupts(self._spec):
            errors = readback.checksum_errors(self._bed)
            self._records.fact("checksums", at="end", errors=errors)

    def probe_after_traffic(self) -> None:
        """Stop TCP and UDP, wait until the queues are empty, and measure the base RTTs again."""
        planned = self._spec["probes"]["round_trips_end"]
        if not planned:
            return
        with self.load.among_packets():
            settle_ns = max(echo["expected_ns"] for echo in planned)
            quiet = after_traffic.stop_and_drain(self._bed, settle_ns)
            for echo in planned:
                measured_ns = None
                if quiet:
                    measured_ns = probes.round_trip_ns(self._bed, echo, self._machine.echoes)
                self._records.fact("round_trip_end", **echo, measured_ns=measured_ns, quiet=quiet)

    def _count_packets(self, when: str) -> None:
        self._records.fact("packets", at=when, **self._packets.read())

    def _probe(self) -> None:
        bed, records, planned = self._bed, self._records, self._spec["probes"]
        records.progress("probes")
        for echo in planned["round_trips"]:
            measured_ns = probes.round_trip_ns(bed, echo, self._machine.echoes)
            records.fact("round_trip", **echo, measured_ns=measured_ns)
        # Losses and jitter would hide what these measure.
        channels.bypass_netems(bed, True)
        for burst in planned["bursts"]:
            idle.wait_until_idle(bed)
            records.fact("burst", **burst, **probes.queue_burst(bed, burst))
        for policer in planned["policers"]:
            idle.wait_until_idle(bed)
            records.fact("policer", **policer, **probes.policer_bursts(bed, policer))
        idle.wait_until_idle(bed)
        channels.bypass_netems(bed, False)

    def _fill_policers(self) -> None:
        """Wait until every policer's bucket is full, whatever has been taken from it."""
        system.Timer().sleep_until(system.monotonic_ns() + self._spec["probes"]["fill_ns"])

    def _run_hook(self) -> None:
        """Run the file that a test names to break the finished bed on purpose."""
        if self._spec.get("hook"):
            path = f"{self._spec['folder']}/{self._spec['hook']}"
            runpy.run_path(path, {"bed": self._bed, "spec": self._spec})
