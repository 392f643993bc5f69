"""A lab host's part of a run's network, over interfaces that the host had before.

Samplers, traffic engines and the scheduler use it like the network of a guest (build.Bed): both
satisfy testbed/bed.Bed. It has only what is on this host. The undo log gets how each thing was,
before the thing is changed.
"""

from __future__ import annotations

import contextlib
import os
from subprocess import Popen

from orchestrator.protocol.numbering import CHANNEL_ENDS, LINK_ENDS
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.kernel.sysctl import read_sysctl, write_sysctl
from orchestrator.testbed.lab import modules
from orchestrator.testbed.network import channels, host_state, readback, rtnl
from orchestrator.testbed.network.ethtool import Ethtool
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from orchestrator.protocol.specification import (
        AgentLinkSpec,
        AgentSpec,
        RuleSpec,
        WordSpec,
    )
    from orchestrator.testbed.bed import FactWriter, QueueCounters
    from orchestrator.testbed.lab.peers import Peer, Peers
    from orchestrator.testbed.lab.undo_log import UndoLog


def programs_of(run_folder: str) -> str:
    """Return the path of the folder for what programs of a run read and keep."""
    return os.path.join(run_folder, "programs")


class _Host:
    """This machine, which plays hosts of the network in the namespace that it has."""

    def __init__(self, namespace_fd: int) -> None:
        self.namespace_fd = namespace_fd

    def spawn(self, arguments: Sequence[str], **params: Any) -> Popen[Any]:
        """Start a program and return its Popen."""
        return Popen(arguments, **params)


class _Link:
    """The link that this router emulates; its ends a and b are interfaces of the router."""

    def __init__(self, spec: AgentLinkSpec, indices: Mapping[str, int]) -> None:
        self.spec, self._indices = spec, indices

    def device(self, end: str) -> tuple[str, int]:
        """Return (name, index) of the device of that end."""
        name = {"a": self.spec["left"], "b": self.spec["right"]}[end]
        return name, self._indices[name]


class _NoQueues:
    """The queue counters of a host that emulates nothing."""

    names: tuple[tuple[int, int], ...] = ()

    def sample(self) -> bytes:
        """Return nothing."""
        return b""

    def forget(self) -> None:
        """Do nothing."""


class LabBed:
    """This machine's part of the network.

    Args:
        spec: the machine's part of the run.
        records: where facts go.
        undo_log: gets how everything was before it is changed.
        run_folder: the folder of this run alone.
        peers: the other ends of flows of programs.
    """

    def __init__(
        self,
        spec: AgentSpec,
        records: FactWriter,
        undo_log: UndoLog,
        run_folder: str = "",
        peers: Peers | None = None,
    ) -> None:
        self.spec, self._records, self._undo_log = spec, records, undo_log
        self.input_folder = os.path.join(run_folder, "in")
        self.program_folder = programs_of(run_folder)
        self._peers = peers
        self.home_fd = self.wires_fd = system.current_network_namespace()
        self.wires = netlink.Netlink()
        self.links: dict[str, _Link] = {}
        self.namespaces: dict[str, set[str]] = {}
        first, last = spec["ports"]
        self.ports: tuple[int, int] | None = (first, last)
        self._here = _Host(self.home_fd)
        self._state_at_start: dict[str, str] = {}

    def holds(self, name: str) -> bool:
        """Tell whether this machine plays that host of the network."""
        return name in self.spec["nodes"]

    def place(self, name: str) -> str:
        """Return one name for all hosts that share a namespace with that one."""
        return self.spec["nodes"][0] if self.holds(name) else name

    def host(self, name: str) -> _Host:
        """Return the host of that name, which this machine plays."""
        if not self.holds(name):
            raise LookupError(f"{name} is not played by this machine")
        return self._here

    def address(self, name: str) -> str:
        """Return the IPv4 address of any host of the network."""
        return self.spec["addresses"][name]

    def names(self) -> Mapping[str, str]:
        """Return the IPv4 address of the machine that plays each host of the network."""
        return self.spec["addresses"]

    def peer(self, flow: int) -> Peer:
        """Return the other end of the flow of that number; see lab/peers.py."""
        if self._peers is None:
            raise LookupError("nothing reaches other machines here")
        return self._peers.of(flow)

    def clock_ahead_ns(self, name: str) -> int:
        """Return how far the clock here is ahead of that of the machine that plays the host."""
        return self.spec["origin_ns"] - self.spec["origins_ns"][name]

    def enter(self, name: str) -> AbstractContextManager[None]:
        """Return a context without effect: the calling thread is in the host's namespace."""
        self.host(name)
        return contextlib.nullcontext()

    def queue_counters(self, words: Mapping[tuple[int, int], Sequence[WordSpec]]) -> QueueCounters:
        """Return what samples our qdiscs; see qdisc_counters.NamespaceCounters."""
        if not self.links:
            return _NoQueues()
        devices = [link.device(end)[1] for link in self.links.values() for end in LINK_ENDS]
        return qdisc_counters.NamespaceCounters(self.wires, words, only=frozenset(devices))

    def set_namespace(self, host: str, name: str, value: str | int) -> None:
        """Set a sysctl, read it back, and record that and when; see bed.Bed.set_namespace."""
        with self.enter(host):
            self._set_sysctl(name, value)
            clock_ns = system.monotonic_ns()
        self.namespaces.setdefault(host, set()).add(name)
        self._records.fact("namespace", host=host, sysctl=name, value=value, clock_ns=clock_ns)

    def set_rules(self, _rules: Sequence[RuleSpec]) -> None:
        """Raise BuildError: lab hosts have no switches."""
        raise BuildError("a lab host has no switches whose rules could change")

    def build(self) -> None:
        """Set everything that the run needs of this machine.

        Raises:
            BuildError: a value read back differs from the one set.
            OSError: the kernel refused something.
        """
        modules.load(self.spec["modules"], self._undo_log)
        if self.spec["counts"]:
            modules.load_counts(self._undo_log)
        for name, value in self.spec["sysctls"].items():
            self._set_sysctl(name, value)
        if self.spec["offloads_off"]:
            self._switch_offloads_off()
        for host, values in self.spec["namespaces"].items():
            for name, value in values.items():
                self.set_namespace(host, name, value)
        for destination, metrics in self.spec["route_metrics"].items():
            self._set_route(destination, {int(kind): metric for kind, metric in metrics.items()})
        for link in self.spec["links"]:
            self._emulate(link)

    def _set_sysctl(self, name: str, value: str | int) -> None:
        before = read_sysctl(name)
        if before is None:
            raise BuildError(f"this kernel has no {name}")
        if before == str(value):
            return
        self._undo_log.note("sysctl", sysctl=name, value=before)
        try:
            write_sysctl(name, value)
        except OSError as error:
            raise BuildError(f"{name}={value}: {error.strerror}") from None
        applied = read_sysctl(name)
        if applied != str(value):
            raise BuildError(f"{name} is {applied}, requested was {value}")

    def _switch_offloads_off(self) -> None:
        tool = Ethtool()
        for interface in self.spec["interfaces"]:
            values = tool.all_offloads(interface)
            if any(values.values()):
                self._undo_log.note("offloads", interface=interface, values=values)
                tool.set_offloads(interface)
        tool.close()

    def _set_route(self, destination: str, metrics: dict[int, int]) -> None:
        """Add a route to one host with metrics; packets leave as they did before."""
        way = rtnl.way_to(self.wires, destination)
        if way is None:
            raise BuildError(f"no route to {destination}")
        self._undo_log.note("route", destination=destination)
        rtnl.add_host_route(self.wires, destination, way, metrics)
        self.wires.flush()
        applied = rtnl.route_metrics(self.wires, way["index"], destination)
        if applied != metrics:
            raise BuildError(f"metrics of {destination} are {applied}, requested was {metrics}")
        self._records.fact("route", destination=destination, metrics=applied)

    def _emulate(self, spec: AgentLinkSpec) -> None:
        """Set queue, rate, delay and loss of each direction where packets leave the router."""
        present = rtnl.interfaces(self.wires)
        for interface in (spec["left"], spec["right"]):
            require_free(self.wires, interface, present[interface][0])
        indices = {name: index for name, (index, _counters) in present.items()}
        link = self.links[spec["name"]] = _Link(spec, indices)
        for interface in (spec["left"], spec["right"]):
            self._undo_log.note("queue", interface=interface)
        for direction, (_source, sink) in CHANNEL_ENDS.items():
            channels.shape(self.wires, spec[direction], *link.device(sink))
        self.wires.flush()

    def interfaces(self) -> dict[str, dict[str, Any]]:
        """Return counters and offloads of the interfaces that take part; see readback."""
        route, tool = netlink.Netlink(), Ethtool()
        present = rtnl.interfaces(route)
        facts = {
            name: {**readback.interface(tool, name, present[name][1]), "shared": True}
            for name in self._interfaces_of_run()
        }
        route.close()
        tool.close()
        return facts

    def _interfaces_of_run(self) -> list[str]:
        return list(self.spec["interfaces"])

    def host_state(self, when: str) -> dict[str, object]:
        """Return the values of the fact "host_state", at the "start" and at the "end".

        The machine has settings of its own, so those at the start are taken as requested. Planned
        steps change sysctls of single hosts. Those are left out here, and read by
        ``readback.namespaces``.
        """
        route = netlink.Netlink()
        state = host_state.of_shared_host(route, self._interfaces_of_run())
        route.close()
        for name in set().union(*self.namespaces.values()):
            state.pop(name, None)
            self._state_at_start.pop(name, None)
        if when == "start":
            self._state_at_start = state
        return host_state.fact_of({self.spec["name"]: (self._state_at_start, state)})


def require_free(route: netlink.Netlink, name: str, index: int) -> None:
    """Raise BuildError unless the interface has the kernel's default qdisc and no clsact."""
    others = qdisc.foreign(route, index)
    if others:
        raise BuildError(f"{name} has {', '.join(others)}, which somebody else has set")


def spare_namespace() -> None:
    """Move the calling thread into a new namespace, with lo up, for the thread's lifetime."""
    os.close(system.new_network_namespace())
    route = netlink.Netlink()
    rtnl.set_up(route, 1, "lo")
    route.flush()
    route.close()
