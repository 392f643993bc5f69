"""The interfaces between the parts of a test bed.

``Bed`` is what samplers, traffic engines and the scheduler need of a network. Both
``network.build.Bed``, the whole network of a guest or of this machine, and ``lab.bed.LabBed``, a
lab host's part of a network, satisfy it. ``Engine`` makes the traffic of a flow. ``Environment`` is
what the sequence of a run needs of the place where the run happens.
Imported for type checks only: what a guest imports costs time at each boot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from subprocess import Popen
from typing import Any, Protocol

from orchestrator.protocol.specification import (
    AgentSpec,
    CaptureSpec,
    FlowSpec,
    LinkSpec,
    RuleSpec,
    TestbedSpec,
    WordSpec,
)
from orchestrator.testbed.kernel.netlink import Netlink
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.trace import CapturedHost


class FactWriter(Protocol):
    """Takes facts; ``sampling.records.Records`` writes them to a file."""

    def fact(self, name: str, **values: object) -> None:
        """Take one fact, whose values can be written as JSON."""


class Link(Protocol):
    """A link whose channels this process shapes."""

    @property
    def spec(self) -> LinkSpec:
        """The link's specification, which planned steps change."""

    def device(self, end: str) -> tuple[str, int]:
        """Return (name, interface index) of the device of that end, a or b."""


class ShapedNetwork(Protocol):
    """The links of a network, and the namespace where their devices are."""

    wires: Netlink
    home_fd: int
    wires_fd: int

    @property
    def spec(self) -> TestbedSpec | AgentSpec:
        """The specification of the run, which planned steps change."""

    @property
    def links(self) -> Mapping[str, Link]:
        """The links that are shaped here, by the scenario's names."""


class Host(Protocol):
    """A host of the network, in a network namespace."""

    @property
    def namespace_fd(self) -> int:
        """Descriptor of its namespace."""

    def spawn(self, arguments: Sequence[str], **params: Any) -> Popen[Any]:
        """Start a program in its namespace; ``params`` are those of Popen."""


class QueueCounters(Protocol):
    """Reads the counters of all qdiscs that are sampled; see qdisc_counters.NamespaceCounters."""

    @property
    def names(self) -> Sequence[tuple[int, int]]:
        """(interface index, handle) of each, in the order of a sample's rows."""

    def sample(self) -> bytes:
        """Return one row for each, as protocol/records.py has them."""

    def forget(self) -> None:
        """Expect another layout of the kernel's answers from now on."""


class Peer(Protocol):
    """The other end of a flow of programs, on another machine; see lab/peers.py."""

    @property
    def tell(self) -> Callable[[str], None]:
        """What takes a signal, one of ``programs.SIGNALS``, to the other end."""

    def fileno(self) -> int:
        """Return a descriptor that is readable when the other end has told something."""

    def take(self) -> Sequence[str]:
        """Return the signals that have come since the last call."""


class Bed(ShapedNetwork, Protocol):
    """A network with its hosts, or a lab host's part of one."""

    namespaces: dict[str, set[str]]
    """Names of the sysctls that were set for single hosts."""
    ports: tuple[int, int] | None
    """(first, last) port of the run's flows; None where all ports of all hosts are the bed's."""

    def holds(self, name: str) -> bool:
        """Tell whether that host is in this bed; on a lab host, others are elsewhere."""

    def place(self, name: str) -> str:
        """Return one name for all hosts that share a namespace with that one."""

    def host(self, name: str) -> Host:
        """Return that host, which this bed holds."""

    def address(self, name: str) -> str:
        """Return the IPv4 address of any host of the network."""

    def names(self) -> Mapping[str, str]:
        """Return the IPv4 address of each host of the network by its name."""

    @property
    def input_folder(self) -> str:
        """The folder of the specification, in which the files of programs are."""

    @property
    def program_folder(self) -> str:
        """A folder of this bed alone for what programs read and keep; not there at first."""

    def peer(self, flow: int) -> Peer:
        """Return the other end of the flow of that number, which this bed does not hold."""

    def clock_ahead_ns(self, name: str) -> int:
        """Return how far the clock here is ahead of the clock of that host."""

    def enter(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which the calling thread is in that host's namespace."""

    def queue_counters(self, words: Mapping[tuple[int, int], Sequence[WordSpec]]) -> QueueCounters:
        """Return what samples the queueing disciplines of all links."""

    def set_namespace(self, host: str, name: str, value: str | int) -> None:
        """Set a sysctl of one host's namespace, read it back, and record that and when.

        Raises:
            BuildError: the kernel has no such sysctl, refuses the value, or has another one then.
        """

    def set_rules(self, rules: Sequence[RuleSpec]) -> None:
        """Change the routes of packets at all switches at once, and return when they are changed.

        Raises:
            BuildError: this bed has no switches.
            OpenFlowError: a switch refused a rule.
        """


class Engine(Protocol):
    """Makes the traffic of one flow; see ``traffic/__init__.py``."""

    @property
    def spec(self) -> FlowSpec:
        """The flow's specification."""

    def start(self, origin_ns: int) -> None:
        """Begin: times of the flow count from ``origin_ns`` of the monotonic clock."""

    def stop(self) -> None:
        """Send nothing more; called at the flow's stop time, if it has one."""

    def finish(self) -> None:
        """Note what is not complete; called after the last sample."""


class DatagramEngine(Engine, Protocol):
    """An engine without TCP connections, which counts its packets itself."""

    def counters(self, time_ns: int) -> tuple[int, ...]:
        """Return records.DATAGRAM_COUNTERS at that time since the start of traffic."""


class LoadWatch(Protocol):
    """Measures a machine's load during traffic, and keeps the sampler from delaying packets."""

    def watch(self, origin_ns: int, duration_ns: int) -> None:
        """Begin to measure the machine's load, where other programs can disturb the run."""

    def leave_to_packets(self) -> None:
        """Move the calling thread away from the CPU on which packets are processed."""

    def among_packets(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread is on the CPU of the packets."""

    def watched(self) -> Mapping[str, Mapping[str, object]]:
        """Return the facts of what ``watch`` measured, by their names."""


class Trace(Protocol):
    """Records packets, and perhaps connections; see sampling/trace.py and host_captures.py."""

    def begin(self, origin_ns: int) -> None:
        """Begin to record; the window of the capture counts from ``origin_ns``."""

    def end(self, records: Records) -> None:
        """End the recording, and write the trace; traffic has ended."""


class Machine(LoadWatch, Protocol):
    """How a whole network runs in a guest's virtual time or on a real machine; see machines.py."""

    @property
    def echoes(self) -> int:
        """How many round trips are measured for a base RTT, the shortest of which counts."""

    @property
    def time_stands_still(self) -> bool:
        """Whether no packet moves while this process reads counters."""

    def begin(self, spec: TestbedSpec) -> None:
        """Prepare the whole machine, before anything is built."""

    def align(self) -> None:
        """Wait for a time at which queues with timers of their own may be made."""

    def restart_randomness(self) -> None:
        """Restart the kernel's random generator, where it belongs to the bed."""

    def trace(self, capture: CaptureSpec, hosts: Sequence[CapturedHost], home_fd: int) -> Trace:
        """Return what traces the packets of a network with these hosts, ready to begin.

        ``home_fd`` is the namespace of the calling thread.
        """

    def rank_programs(self, spec: TestbedSpec) -> None:
        """Decide whether programs of engines run after this process; before engines are made."""

    def origin_ns(self) -> int:
        """Return when traffic starts, by the monotonic clock."""


class Environment(Protocol):
    """What differs between a run of a whole network and a lab host's part of a run.

    ``sequence.run`` calls the methods in the order in which they stand here.
    """

    @property
    def load(self) -> LoadWatch:
        """What measures the load of the machine."""

    def build(self) -> Bed:
        """Prepare the machine, build the network and return it."""

    def versions(self) -> Mapping[str, object]:
        """Return the values of the fact "versions"."""

    def probe_before_engines(self) -> None:
        """Measure the idle network, and reset what the measurements have changed."""

    def queue_devices(self) -> Mapping[str, object]:
        """Return further values of the fact "queues"."""

    def probe_before_traffic(self) -> None:
        """Measure the idle network when engines, sampler and scheduler are ready."""

    def interfaces(self) -> Mapping[str, object]:
        """Return counters and offloads of the interfaces; called again at the end."""

    def host_state(self, when: str) -> Mapping[str, object]:
        """Return the values of the fact "host_state", at the "start" and at the "end"."""

    def sysctls(self) -> Mapping[str, object]:
        """Return the values of the fact "sysctls"."""

    def trace(self) -> Trace:
        """Return what traces packets and connections, ready to begin."""

    def await_origin_ns(self) -> int:
        """Return when traffic starts, by the monotonic clock; everything else is ready."""

    def measure_after_traffic(self) -> None:
        """Write the facts that only this kind of environment has at the end."""

    def probe_after_traffic(self) -> None:
        """Stop traffic and measure the idle network again; everything else has been read."""
