"""Builds the network of a specification with a few netlink messages, and reads it back."""

from __future__ import annotations

from mininet.net import Mininet

from orchestrator.protocol.links.netem import CORRUPTION
from orchestrator.protocol.numbering import CHANNEL_ENDS, HOST_PREFIX_LENGTH, LINK_ENDS
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import mptcp, netlink, system
from orchestrator.testbed.kernel.sysctl import read_sysctl, write_sysctl
from orchestrator.testbed.network import channels, further_interfaces, rtnl, spray
from orchestrator.testbed.network.ethtool import Ethtool
from orchestrator.testbed.network.nodes import (
    HOST_INDEX,
    BedSwitch,
    NamespaceHost,
    WireLink,
)
from orchestrator.testbed.network.queues import qdisc, qdisc_counters
from orchestrator.testbed.network.switch import openflow, ovs

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from mininet.link import Intf

    from orchestrator.protocol.specification import (
        HostSpec,
        RuleSpec,
        TestbedSpec,
        WordSpec,
    )
    from orchestrator.testbed.bed import FactWriter, Peer


_VALID = {"net.mptcp.scheduler": "net.mptcp.available_schedulers"}
"""Sysctls that list the values of others."""


class Bed:
    """The built network: Mininet's objects, the namespace of the wires, and sockets.

    ``wires`` and ``wires_tool`` are in the namespace of the wires, ``route`` and ``tool`` in that
    of the switches. They are for the thread that builds the network and reads it back.
    """

    def __init__(self, spec: TestbedSpec, records: FactWriter) -> None:
        self.spec = spec
        self._records = records
        self.home_fd = system.current_network_namespace()
        self.wires_fd = system.new_network_namespace()
        self.wires = netlink.Netlink()
        self.wires_tool = Ethtool()
        system.enter(self.home_fd)
        self.route = netlink.Netlink()
        self.tool = Ethtool()
        Mininet.inited = True  # its init() runs sysctl commands, which are not needed here
        self.net = Mininet(build=False, controller=None, host=NamespaceHost, switch=BedSwitch)
        self.links: dict[str, WireLink] = {}
        # By the scenario's names: a device of another node may have the same name. Hosts that are
        # interfaces of one machine have the same node.
        self.nodes: dict[str, Any] = {}
        self._hosts = {host["name"]: host for host in spec["hosts"]}
        # Of each host the one interface.
        self.interfaces: dict[str, Intf] = {}
        self.namespaces: dict[str, set[str]] = {}
        # All ports of these namespaces belong to the bed.
        self.ports: tuple[int, int] | None = None
        self.program_folder = "/run"
        self._rule_connections: dict[str, openflow.Connection] = {}
        # The first priority of the filters of each spray.
        self._spray_priorities: list[int] = []
        # The version of the running switches; None without switches.
        self.openvswitch: str | None = None

    def host(self, name: str) -> NamespaceHost:
        """Return the host of that name."""
        node: NamespaceHost = self.nodes[name]
        return node

    def holds(self, _name: str) -> bool:
        """Return True: all hosts are in this bed, unlike on the machines of a lab."""
        return True

    def place(self, name: str) -> str:
        """Return one name for all hosts that share a namespace with that one."""
        return self._hosts[name].get("machine", name)

    def index(self, name: str) -> int:
        """Return the index of a host's interface in its namespace."""
        interface = self.interfaces[name]
        return HOST_INDEX + int(interface.node.ports[interface])

    def clock_ahead_ns(self, _name: str) -> int:
        """Return 0: all hosts have the same clock."""
        return 0

    def queue_counters(
        self, words: Mapping[tuple[int, int], Sequence[WordSpec]]
    ) -> qdisc_counters.NamespaceCounters:
        """Return the sampler of all qdiscs; see qdisc_counters.NamespaceCounters."""
        return qdisc_counters.NamespaceCounters(self.wires, words)

    def address(self, name: str) -> str:
        """Return the IPv4 address of that host."""
        return self._hosts[name]["address"]

    def names(self) -> dict[str, str]:
        """Return the IPv4 address of each host by its name."""
        return {name: host["address"] for name, host in self._hosts.items()}

    @property
    def input_folder(self) -> str:
        """The folder of the specification."""
        return self.spec["folder"]

    def peer(self, _flow: int) -> Peer:
        """Raise LookupError: both ends of each flow are in this bed."""
        raise LookupError("both ends of each flow are here")

    def enter(self, name: str) -> AbstractContextManager[None]:
        """Return a context manager that moves the calling thread into that host's namespace."""
        return system.inside(self.host(name).namespace_fd, self.home_fd)

    def set_namespace(self, host: str, name: str, value: str | int) -> None:
        """Set a sysctl of one host's namespace, read it back, and record that and when.

        Any thread may call it at any time, also while traffic runs.

        Raises:
            BuildError: the kernel has no such sysctl, refuses the value, or has another one then.
        """
        with self.enter(host):
            try:
                write_sysctl(name, value)
            except OSError as error:
                valid = read_sysctl(_VALID[name]) if name in _VALID else None
                more = "" if valid is None else f"; the kernel has: {valid}"
                raise BuildError(f"{host}: {name}={value}: {error.strerror}{more}") from None
            clock_ns, applied = system.monotonic_ns(), read_sysctl(name)
        if applied != str(value):
            raise BuildError(f"{host}: {name} is {applied}, requested was {value}")
        self.namespaces.setdefault(host, set()).add(name)
        self._records.fact("namespace", host=host, sysctl=name, value=value, clock_ns=clock_ns)

    def set_rules(self, rules: Sequence[RuleSpec]) -> None:
        """Change the routes of packets at all switches at once, and return when they are changed.

        All switches get their messages before any answers. Open vSwitch then handles them in one
        iteration of its main loop.

        Raises:
            OpenFlowError: a switch refused a rule.
        """
        macs = {host["name"]: host["mac"] for host in self.spec["hosts"]}
        messages: dict[str, list[bytes]] = {}
        for rule in rules:
            switch, link = rule["switch"], rule["link"]
            port = None if link is None else self._port(switch, link)
            message = openflow.pair_rule(macs[rule["source"]], macs[rule["sink"]], port)
            messages.setdefault(switch, []).append(message)
        for switch, messages_of_one in messages.items():
            self._rule_connections[switch].send(messages_of_one)
        for switch in messages:
            self._rule_connections[switch].wait()

    def build(self) -> None:
        """Build everything: objects, devices, addresses, queues, switches, forwarding.

        Raises:
            BuildError: a value read back differs from the one set.
            NetlinkError: the kernel refused something.
        """
        for host in self.spec["hosts"]:
            self.nodes[host["name"]] = (
                self.nodes[host["machine"]]
                if "machine" in host
                else self.net.addHost(
                    host["name"], ip=host["address"], mac=host["mac"], home_fd=self.home_fd
                )
            )
        for number, switch in enumerate(self.spec["switches"], start=1):
            node = self.net.addSwitch(switch["device"], dpid=f"{number:x}")
            self.nodes[switch["name"]] = node
        for number, link in enumerate(self.spec["links"]):
            self.links[link["name"]] = self.net.addLink(
                self.nodes[link["a"]],
                self.nodes[link["b"]],
                cls=WireLink,
                number=number,
                spec=link,
            )
        self._make_devices()
        self._configure_wires()
        self._configure_hosts()
        self._configure_switches()
        self._await_wires()

    def _make_devices(self) -> None:
        """Create the veth pairs, each device in its namespace, in one batch."""
        for link in self.links.values():
            for end, name, interface in (
                ("a", link.spec["a"], link.intf1),
                ("b", link.spec["b"], link.intf2),
            ):
                host = self._hosts.get(name)
                if host is not None:
                    self.interfaces[name] = interface
                rtnl.add_veth(
                    self.route,
                    self._wire_end(link, end),
                    rtnl.DeviceEnd(
                        interface.name,
                        self.index(name) if host else 0,
                        interface.node.namespace_fd if host else None,
                        host["mac"] if host else None,
                    ),
                )
        self.route.flush()

    def _await_wires(self) -> None:
        """Let the devices of the wires send, which came up before the other ends of their cables.

        Raises:
            BuildError: one has no carrier.
        """
        for link in self.links.values():
            for end in LINK_ENDS:
                name, _index = link.device(end)
                if not self.wires_tool.has_link(name):
                    raise BuildError(f"link {link.spec['name']}: {name} has no carrier")

    def _wire_end(self, link: WireLink, end: str) -> rtnl.DeviceEnd:
        name, index = link.device(end)
        return rtnl.DeviceEnd(name, index, self.wires_fd)

    def _configure_wires(self) -> None:
        for link in self.links.values():
            for end in LINK_ENDS:
                name, index = link.device(end)
                qdisc.add_classifier_hook(self.wires, index, name)
            for direction, ends in CHANNEL_ENDS.items():
                channel = link.spec[direction]
                channels.redirect(self.wires, link, channel["policer"], *ends)
                channels.shape(self.wires, channel, *link.device(ends[1]))
        for link in self.links.values():
            for end in LINK_ENDS:
                name, index = link.device(end)
                rtnl.set_up(self.wires, index, name, link.spec["mtu_bytes"])
        self.wires.flush()
        for link in self.links.values():
            for end in LINK_ENDS:
                self.wires_tool.set_offloads(link.device(end)[0])

    def _configure_hosts(self) -> None:
        corrupted = corrupts(self.spec)
        for host in self.spec["hosts"]:
            node, interface = self.host(host["name"]), self.interfaces[host["name"]]
            route, index = node.route, self.index(host["name"])
            if "machine" not in host:
                rtnl.set_up(route, 1, "lo")
            rtnl.set_up(route, index, host["name"], interface.link.spec["mtu_bytes"])
            prefix = further_interfaces.PREFIX_LENGTH if "machine" in host else HOST_PREFIX_LENGTH
            rtnl.add_address(route, index, host["address"], prefix, host["name"])
            for peer in host["peers"]:
                address, mac = self._hosts[peer]["address"], self._hosts[peer]["mac"]
                rtnl.add_neighbour(route, index, address, mac, host["name"])
            route.flush()
            self._set_routes(route, index, host)
            node.tool.set_offloads(interface.name)
            if host["name"] in self.spec.get("tso_hosts", ()):
                node.tool.set_segmentation(interface.name)
            if host["name"] in self.spec.get("gro_hosts", ()):
                node.tool.set_offload(interface.name, "gro", on=True)
            if corrupted:  # netem damages the first piece only: the headers
                node.tool.send_in_one_piece(interface.name)
            if self.spec["sysctls"] and "machine" not in host:
                with self.enter(host["name"]):
                    for name, value in self.spec["sysctls"].items():
                        write_sysctl(name, value)
            for name, value in self.spec["namespaces"].get(host["name"], {}).items():
                self.set_namespace(host["name"], name, value)
        for manager in self.spec.get("path_managers", []):
            with self.enter(manager["host"]):
                mptcp.set_paths(manager)

    def _set_routes(self, route: netlink.Netlink, index: int, host: HostSpec) -> None:
        texts = self.spec["route_metrics"].get(host["name"], {})
        requested = {int(kind): value for kind, value in texts.items()}
        if "machine" in host:
            further_interfaces.add_routes(route, index, host, self._hosts, requested)
            route.flush()
            return
        if not requested:
            return
        own_route = (index, host["address"], HOST_PREFIX_LENGTH)
        rtnl.set_route_metrics(route, *own_route, requested, host["name"])
        route.flush()
        applied = rtnl.route_metrics(route, index)
        if applied != requested:
            raise BuildError(
                f"{host['name']}: route metrics are {applied}, requested was {requested}"
            )
        self._records.fact("route", host=host["name"], metrics=applied)

    def _configure_switches(self) -> None:
        if not self.spec["switches"]:
            return
        present = rtnl.interfaces(self.route)
        for switch in self.net.switches:
            for interface in switch.intfList():
                self.tool.set_offloads(interface.name)
                mtu_bytes = interface.link.spec["mtu_bytes"]
                rtnl.set_up(self.route, present[interface.name][0], interface.name, mtu_bytes)
        for name in sorted(self.spraying_interfaces()):
            qdisc.add_classifier_hook(self.route, present[name][0], name)
        self.route.flush()
        self.openvswitch = ovs.start_bridges(self.net.switches, self._flow_tables())
        first_rules = self.spec.get("pair_rules", [])
        self._connect_to(rule["switch"] for rule in first_rules)
        self.set_rules(first_rules)
        for step in self.spec["planned_steps"]:
            if step["do"] == "route":
                self._connect_to(rule["switch"] for rule in step["rules"])

    def begin_spraying(self) -> None:
        """Let switches choose among equal links for each packet from now on.

        Random numbers of filters (bpf_user_rnd_u32 of the kernel) are seeded as the first such
        filter is made. So in a guest they depend on the kernel's randomness now.
        """
        taken: dict[str, int] = {}
        macs = {host["name"]: host["mac"] for host in self.spec["hosts"]}
        present = rtnl.interfaces(self.route)
        for one in self.spec.get("sprays", []):
            names = [self._interface(one["switch"], link) for link in one["links"]]
            self._spray_priorities.append(taken.get(names[0], 0) + 1)
            taken[names[0]] = taken.get(names[0], 0) + len(names)
            spray.add(
                self.route,
                [present[name][0] for name in names],
                self._spray_priorities[-1],
                [macs[host] for host in one["destinations"]],
                one["switch"],
            )
        self.route.flush()

    def sprayed(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the fact "sprayed" for each spray that has begun."""
        present = rtnl.interfaces(self.route)
        for one, priority in zip(self.spec.get("sprays", []), self._spray_priorities, strict=True):
            first, *others = one["links"]
            counts = spray.packets(self.route, present[self._interface(one["switch"], first)][0])
            found = {link: counts[priority + place] for place, link in enumerate((*others, first))}
            packets = {link: found[link] for link in one["links"]}
            yield {"switch": one["switch"], "packets": packets}

    def _connect_to(self, switches: Iterable[str]) -> None:
        """Connect to switches whose rules for pairs of hosts are set."""
        for name in switches:
            if name not in self._rule_connections:
                path = ovs.control_socket(self.nodes[name].name)
                self._rule_connections[name] = openflow.Connection(path)

    def _flow_tables(self) -> dict[str, list[tuple[str, int]]]:
        """Return {bridge: [(destination MAC, port)]}, with the port of each destination's link."""
        macs = {host["name"]: host["mac"] for host in self.spec["hosts"]}
        tables: dict[str, list[tuple[str, int]]] = {}
        for name, destinations in self.spec["forwarding"].items():
            rules = tables.setdefault(self.nodes[name].name, [])
            for destination, link_name in destinations.items():
                rules.append((macs[destination], self._port(name, link_name)))
        return tables

    def _port(self, switch_name: str, link_name: str) -> int:
        """Return the number of the switch's port to that link."""
        return int(self.nodes[switch_name].ports[self._end_at(switch_name, link_name)])

    def _interface(self, switch_name: str, link_name: str) -> str:
        """Return the name of the switch's interface to that link."""
        return str(self._end_at(switch_name, link_name).name)

    def _end_at(self, switch_name: str, link_name: str) -> Intf:
        switch, link = self.nodes[switch_name], self.links[link_name]
        return link.intf1 if link.intf1.node is switch else link.intf2

    def spraying_interfaces(self) -> set[str]:
        """Return the switches' interfaces from which packets are sprayed over others."""
        return {
            self._interface(one["switch"], one["links"][0]) for one in self.spec.get("sprays", [])
        }


def corrupts(spec: TestbedSpec) -> bool:
    """Tell whether any channel corrupts packets, now or after a planned step.

    A netem that corrupts packets later has the setting from the start, with the value 0.
    """
    netems = [link[direction]["netem"] for link in spec["links"] for direction in CHANNEL_ENDS]
    return any(
        netem and any(s["name"] == CORRUPTION for s in netem["settings"]) for netem in netems
    )
