"""One host's part of a run's network: its own namespace, and interfaces that were there before.

It looks to samplers, traffic and timeline as the built network of an emulation does (build.Bed),
of which only what this host has is there. Whatever is set is noted in a ledger first.
"""

import contextlib
import os
from subprocess import Popen

from orchestrator.protocol.numbering import CHANNEL_ENDS
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.kernel.sysctl import read_sysctl, write_sysctl
from orchestrator.testbed.lab import modules
from orchestrator.testbed.network import qdisc, readback, redirect, rtnl
from orchestrator.testbed.network.ethtool import Ethtool

DEVICES = {"f": "tcplab-f", "r": "tcplab-r"}
"""Our own queue devices on a router."""


class _Host:
    """This host, in the place of a namespace of its own."""

    def __init__(self, namespace_fd):
        self.namespace_fd = namespace_fd

    def spawn(self, arguments, **params):
        """Start a program and return its Popen."""
        return Popen(arguments, **params)


class _Link:
    """The link that this router emulates: a and b are interfaces, f and r our own devices."""

    def __init__(self, spec, indices):
        self.spec, self._indices = spec, indices

    def device(self, end):
        """Return (name, index) of the device of that end."""
        name = DEVICES.get(end) or {"a": self.spec["left"], "b": self.spec["right"]}[end]
        return name, self._indices[name]


class _NoQueues:
    """What a host without emulation has to sample of queues."""

    names = ()

    def sample(self):
        """Return nothing."""
        return b""

    def forget(self):
        """Do nothing."""


class LabBed:
    """This host's part.

    Args:
        spec: {"nodes": names of the network's hosts that it plays, "addresses": of all of them,
            "interfaces", "offloads_off", "links", "flows", "sysctls", "namespaces",
            "route_metrics", "modules", "ports": first and last that flows listen at, ...}.
        records: where facts go.
        ledger: told how everything was before it is changed.
    """

    def __init__(self, spec, records, ledger):
        self.spec, self._records, self._ledger = spec, records, ledger
        self.home_fd = self.wires_fd = system.current_network_namespace()
        self.wires = netlink.Netlink()
        self.links, self.nodes, self.namespaces = {}, {}, {}
        self.ports = tuple(spec["ports"])
        self._here = _Host(self.home_fd)

    def holds(self, name):
        """Tell whether this machine plays that host of the network."""
        return name in self.spec["nodes"]

    def place(self, name):
        """Return one name for all hosts that share a namespace with that one."""
        return self.spec["nodes"][0] if self.holds(name) else name

    def host(self, name):
        """Return the host of that name, which has to be here."""
        if not self.holds(name):
            raise LookupError(f"{name} is not played by this machine")
        return self._here

    def address(self, name):
        """Return the IPv4 address of any host of the network."""
        return self.spec["addresses"][name]

    def clock_ahead_ns(self, name):
        """Return how far this machine's clock is ahead of that of the machine that plays it."""
        return self.spec["origin_ns"] - self.spec["origins_ns"][name]

    def enter(self, name):
        """Return a context manager: the calling thread inside that host's namespace, as it is."""
        self.host(name)
        return contextlib.nullcontext()

    def queue_counters(self, words):
        """Return what samples our qdiscs; see qdisc.Counters."""
        if not self.links:
            return _NoQueues()
        devices = [link.device(end)[1] for link in self.links.values() for end in "abfr"]
        return qdisc.Counters(self.wires, words, only=frozenset(devices))

    def set_namespace(self, host, name, value):
        """Set a sysctl, read it back, and record that and when; see build.Bed.set_namespace."""
        with self.enter(host):
            self._set_sysctl(name, value)
            clock_ns = system.monotonic_ns()
        self.namespaces.setdefault(host, set()).add(name)
        self._records.fact("namespace", host=host, sysctl=name, value=value, clock_ns=clock_ns)

    def build(self):
        """Set everything that the run needs of this machine.

        Raises:
            BuildError: a value read back differs from the one set.
            OSError: the kernel refused something.
        """
        modules.load(self.spec["modules"], self._ledger)
        for name, value in self.spec["sysctls"].items():
            self._set_sysctl(name, value)
        if self.spec["offloads_off"]:
            self._switch_offloads_off()
        for host, values in self.spec["namespaces"].items():
            for name, value in values.items():
                self.set_namespace(host, name, value)
        for destination, metrics in self.spec["route_metrics"].items():
            self._set_route(destination, {int(kind): each for kind, each in metrics.items()})
        for link in self.spec["links"]:
            self._emulate(link)

    def _set_sysctl(self, name, value):
        before = read_sysctl(name)
        if before is None:
            raise BuildError(f"this kernel has no {name}")
        if before == str(value):
            return
        self._ledger.note("sysctl", sysctl=name, value=before)
        try:
            write_sysctl(name, value)
        except OSError as error:
            raise BuildError(f"{name}={value}: {error.strerror}") from None
        found = read_sysctl(name)
        if found != str(value):
            raise BuildError(f"{name} is {found}, asked was {value}")

    def _switch_offloads_off(self):
        tool = Ethtool()
        for interface in self.spec["interfaces"]:
            values = tool.offloads(interface)
            if any(values.values()):
                self._ledger.note("offloads", interface=interface, values=values)
                tool.set_offloads(interface)
        tool.close()

    def _set_route(self, destination, metrics):
        """Add a route to one host, the way that packets take now, with metrics."""
        way = rtnl.way_to(self.wires, destination)
        if way is None:
            raise BuildError(f"no route to {destination}")
        self._ledger.note("route", destination=destination)
        rtnl.add_host_route(self.wires, destination, way, metrics)
        self.wires.flush()
        found = rtnl.route_metrics(self.wires, way["index"], destination)
        if found != metrics:
            raise BuildError(f"metrics of {destination} are {found}, asked was {metrics}")
        self._records.fact("route", destination=destination, metrics=found)

    def _emulate(self, spec):
        """Lay queue, rate, delay and loss of each direction where packets leave the router.

        Out of an interface goes what is sent there by way of our own device, with rate and queue,
        and then through the interface's own qdisc, a netem.
        """
        present = rtnl.interfaces(self.wires)
        for interface in (spec["left"], spec["right"]):
            require_free(self.wires, interface, present[interface][0])
        for device in DEVICES.values():
            self._ledger.note("device", device=device)
            rtnl.add_ifb(self.wires, rtnl.End(device))
        self.wires.flush()
        indices = {name: index for name, (index, _c) in rtnl.interfaces(self.wires).items()}
        link = self.links[spec["name"]] = _Link(spec, indices)
        self._bring_up(indices)
        for interface in (spec["left"], spec["right"]):
            self._ledger.note("hook", interface=interface)
            self._ledger.note("queue", interface=interface)
        for direction, (_source, queue_end, sink_end) in CHANNEL_ENDS.items():
            self._emulate_channel(link, spec[direction], queue_end, sink_end)
        self.wires.flush()

    def _bring_up(self, indices):
        """Set our devices up: without offloads, and without packets of IPv6's own over them."""
        tool = Ethtool()
        for device in DEVICES.values():
            tool.set_offloads(device)
            if read_sysctl(f"net.ipv6.conf.{device}.disable_ipv6") is not None:
                write_sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 1)
            rtnl.set_up(self.wires, indices[device], device)
        tool.close()

    def _emulate_channel(self, link, channel, queue_end, sink_end):
        name, index = link.device(sink_end)
        if channel["netem"] is not None:
            qdisc.add_netem(self.wires, index, channel["netem"], name)
        if channel["rate_bps"] is not None:
            device, queue = link.device(queue_end)
            late_ns = channel["late_timers_ns"]
            qdisc.add_rate(self.wires, queue, channel["rate_bps"], device, late_ns=late_ns)
            qdisc.add_queue(self.wires, queue, channel["queue"], device)
            qdisc.add_classifier_hook(self.wires, index, name)
            redirect.add_redirect(self.wires, index, qdisc.EGRESS, queue, name)

    def interfaces(self):
        """Return {interface: counters and offloads} of those that take part; see readback."""
        route, tool = netlink.Netlink(), Ethtool()
        wanted = [*self.spec["interfaces"], *(DEVICES.values() if self.links else ())]
        present = rtnl.interfaces(route)
        found = {
            name: {**readback.interface(tool, name, present[name][1]), "shared": True}
            for name in wanted
        }
        route.close()
        tool.close()
        return found

    def namespace_values(self):
        """Return {host: {sysctl: text}} of what was set for single hosts, as it is now."""
        return {
            host: {name: read_sysctl(name) for name in sorted(names)}
            for host, names in self.namespaces.items()
        }


def require_free(route, name, index):
    """Raise BuildError unless the interface has the kernel's default qdisc and no hook."""
    others = qdisc.foreign(route, index)
    if others:
        raise BuildError(f"{name} has {', '.join(others)}, which somebody else has set")


def spare_namespace():
    """Move the calling thread into a new namespace, with lo up; it goes with the process."""
    os.close(system.new_network_namespace())
    route = netlink.Netlink()
    rtnl.set_up(route, 1, "lo")
    route.flush()
    route.close()
