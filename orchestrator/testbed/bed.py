"""What samplers, traffic engines and the scheduler ask of a test bed.

``network.build.Bed``, the whole network of a guest or of this machine, and ``lab.bed.LabBed``, a
lab host's part of it, both satisfy ``Bed``. ``Engine`` is what makes a flow's traffic.
Imported for type checks only: what a guest imports costs time at each boot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from subprocess import Popen
from typing import Any, Protocol

from orchestrator.protocol.specification import (
    AgentSpec,
    FlowSpec,
    LinkSpec,
    RuleSpec,
    TestbedSpec,
    WordSpec,
)
from orchestrator.testbed.kernel.netlink import Netlink


class Link(Protocol):
    """A link whose channels this process shapes."""

    @property
    def spec(self) -> LinkSpec:
        """The link's specification, which planned steps change."""

    def device(self, end: str) -> tuple[str, int]:
        """Return (name, interface index) of the device of that end: a, b, or the queues' f, r."""


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
    """Reads the counters of all queueing disciplines that are sampled; see qdisc.Counters."""

    @property
    def names(self) -> Sequence[tuple[int, int]]:
        """(interface index, handle) of each, in the order of a sample's rows."""

    def sample(self) -> bytes:
        """Return one row for each, as protocol/records.py has them."""

    def forget(self) -> None:
        """Expect another layout of the kernel's answers from now on."""


class Bed(ShapedNetwork, Protocol):
    """A network with its hosts, or a lab host's part of one."""

    namespaces: dict[str, set[str]]
    """Names of the sysctls that were set for single hosts."""
    ports: tuple[int, ...] | None
    """(first, last) port of the run's flows; None where all ports of all hosts are the bed's."""

    def holds(self, name: str) -> bool:
        """Tell whether that host is in this bed; on a lab host, others are elsewhere."""

    def place(self, name: str) -> str:
        """Return one name for all hosts that share a namespace with that one."""

    def host(self, name: str) -> Host:
        """Return that host, which this bed holds."""

    def address(self, name: str) -> str:
        """Return the IPv4 address of any host of the network."""

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
        """Change the ways of packets at all switches at once, and return when they are changed.

        Raises:
            BuildError: this bed has no such switch.
            OpenFlowError: a switch refused a rule.
        """


class Engine(Protocol):
    """What makes the traffic of one flow; see ``traffic/__init__.py``."""

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
