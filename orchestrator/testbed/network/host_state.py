"""Compares the state of every namespace of the bed with what the run requests.

State is {setting: text}: MTU and qdiscs of each interface that is up, the routes, and the sysctls
that matter. What the specification does not set must have the kernel's default.
"""

from __future__ import annotations

import socket

from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    HOST_PREFIX_LENGTH,
    LINK_HANDLE,
    NETEM_HANDLE,
    QUEUE_HANDLE,
)
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import further_interfaces, readback, rtnl
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Collection, Iterable, Mapping

    from orchestrator.protocol.specification import HostSpec, LinkSpec
    from orchestrator.testbed.kernel.netlink import Netlink
    from orchestrator.testbed.network.build import Bed

    State = dict[str, str]

_LOOPBACK_MTU = 65536
_NO_QUEUE = qdisc.text("noqueue", 0, qdisc.TC_H_ROOT)
_HOOK = qdisc.text("clsact", qdisc.TC_H_CLSACT & 0xFFFF0000, qdisc.TC_H_CLSACT)
_LISTED = "net.ipv4.tcp_available_congestion_control"
"""No setting: loading a module changes it in all namespaces."""
_MOST_CHARACTERS = 200
"""Of a value in a fact."""


class HostStates:
    """Compares all namespaces with the request; to be made when the bed is built.

    The namespace of the wires has the kernel's default sysctls, because the bed sets none there.
    """

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        with system.inside(bed.wires_fd, bed.home_fd):
            self._defaults = sysctls()
        self._of_hosts = readback.HostSysctls(bed)
        self.sysctls: dict[str, dict[str, str]] = {}
        """{host: {sysctl: value}} as ``fact`` has read them last."""

    def fact(self, when: str) -> dict[str, object]:
        """Return the values of the fact "host_state" now; ``when`` is "start" or "end"."""
        bed = self._bed
        states = {"wires": (requested_of_wires(bed.spec["links"]), of_namespace(bed.wires))}
        switched = requested_of_switches(
            {i.name: i.link.spec["mtu_bytes"] for s in bed.net.switches for i in s.intfList()},
            bed.spraying_interfaces(),
        )
        present = of_namespace(bed.route) if switched else {}
        states["switches"] = switched, {name: present.get(name, "") for name in switched}
        self.sysctls = self._of_hosts.read()
        machines: dict[str, list[HostSpec]] = {}
        for host in bed.spec["hosts"]:
            machines.setdefault(bed.place(host["name"]), []).append(host)
        for name, interfaces in machines.items():
            requested = self._requested_of_machine(name, interfaces, when)
            state = {**of_namespace(bed.host(name).route), **self.sysctls[name]}
            state.pop(_LISTED)
            states[name] = requested, state
        return fact_of(states)

    def _requested_of_machine(self, name: str, interfaces: Iterable[HostSpec], when: str) -> State:
        spec = self._bed.spec
        values = {**spec["sysctls"], **spec["namespaces"].get(name, {})}
        if when == "end":
            for step in spec["planned_steps"]:
                if step["do"] == "sysctl" and step["host"] == name:
                    values[step["name"]] = step["value"]
        state = _interface("lo", _LOOPBACK_MTU, _NO_QUEUE)
        for host in interfaces:
            state |= self._requested_of_interface(host)
        return {
            **state,
            **self._defaults,
            **{sysctl: _text(values[sysctl]) for sysctl in values if sysctl in self._defaults},
        }

    def _requested_of_interface(self, host: HostSpec) -> State:
        bed, interface = self._bed, self._bed.interfaces[host["name"]]
        texts = bed.spec["route_metrics"].get(host["name"], {})
        metrics = {int(kind): value for kind, value in texts.items()}
        if "machine" in host:
            hosts = {one["name"]: one for one in bed.spec["hosts"]}
            index = bed.index(host["name"])
            routes = further_interfaces.requested(index, host, hosts, metrics)
        else:
            network = socket.inet_ntoa(rtnl.network_of(host["address"], HOST_PREFIX_LENGTH))
            place = f"{network}/{HOST_PREFIX_LENGTH}"
            routes = [rtnl.route_text(place, None, host["address"], metrics)]
        return {
            **_interface(interface.name, interface.link.spec["mtu_bytes"], _NO_QUEUE),
            f"routes of {interface.name}": _joined(routes),
        }


def sysctls() -> State:
    """Return the sysctls that matter of the calling thread's namespace."""
    names = (name for name in readback.SYSCTLS_THAT_MATTER if name != _LISTED)
    return {name: readback.required_sysctl(name) for name in names}


def of_namespace(route: Netlink) -> State:
    """Return the state of interfaces and routes in the socket's namespace."""
    names, state = {0: "no interface"}, {}
    qdiscs: dict[int, list[str]] = {}
    routes: dict[int, list[str]] = {}
    for index, (name, up, mtu) in rtnl.links(route).items():
        names[index] = name
        if up:
            qdiscs[index], state[f"MTU of {name}"] = [], str(mtu)
    for index, kind, handle, parent in qdisc.listed(route):
        qdiscs.setdefault(index, []).append(qdisc.text(kind, handle, parent))
    for index, text in rtnl.routes(route):
        routes.setdefault(index, []).append(text)
    for subject, texts in (("qdiscs", qdiscs), ("routes", routes)):
        state |= {f"{subject} of {names[index]}": _joined(texts[index]) for index in texts}
    return state


def requested_of_wires(links: Iterable[LinkSpec]) -> State:
    """Return the requested state of the namespace in which the devices of all links are."""
    state: State = {}
    for number, link in enumerate(links):
        for direction, (_source, sink) in CHANNEL_ENDS.items():
            channel = link[direction]
            places = (
                (channel["link"], LINK_HANDLE, qdisc.TC_H_ROOT),
                (channel["queue"], QUEUE_HANDLE, LINK_HANDLE),
                (channel["netem"], NETEM_HANDLE, LINK_HANDLE),
            )
            texts = [
                qdisc.text(part["kind"], *handles) for part, *handles in places if part is not None
            ]
            qdiscs = _joined([_HOOK, *(texts or [_NO_QUEUE])])
            state |= _interface(f"w{number}{sink}", link["mtu_bytes"], qdiscs)
    return state


def requested_of_switches(
    mtus_bytes: Mapping[str, int], spraying: Collection[str] = frozenset()
) -> State:
    """Return the requested state of the switches' interfaces, given with the MTU of each.

    Those that are ``spraying`` have filters.
    """
    state: State = {}
    for name, mtu_bytes in mtus_bytes.items():
        hooks = [_HOOK] if name in spraying else []
        state |= _interface(name, mtu_bytes, _joined([*hooks, _NO_QUEUE]))
    return state


def of_shared_host(route: Netlink, interfaces: Collection[str]) -> State:
    """Return the state of some interfaces of a machine, and the machine's sysctls that matter."""
    state = of_namespace(route)
    return {key: state[key] for key in state if key.rpartition(" ")[2] in interfaces} | sysctls()


def fact_of(states: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]]) -> dict[str, object]:
    """Return the values of the fact from {namespace: (requested state, state that was found)}."""
    return {
        "settings": sum(len(requested) for requested, _found in states.values()),
        "differences": [
            [
                namespace,
                name,
                *(state.get(name, "")[:_MOST_CHARACTERS] for state in (requested, found)),
            ]
            for namespace, (requested, found) in states.items()
            if requested != found
            for name in sorted({*requested, *found})
            if requested.get(name) != found.get(name)
        ],
    }


def _interface(name: str, mtu: int, qdiscs: str) -> State:
    return {f"MTU of {name}": str(mtu), f"qdiscs of {name}": qdiscs}


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


def _text(value: str | int) -> str:
    return " ".join(str(value).split())
