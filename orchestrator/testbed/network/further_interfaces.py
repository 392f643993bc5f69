"""Routes of the further interfaces of machines, which share the namespace of the first one.

The first interface has the network's route. A further one has a table with that route for packets
from its own address (policy routing), whose number is the interface's index. For sockets without an
address it has a route to each of its peers that no earlier interface has.
"""

from __future__ import annotations

import socket

from orchestrator.protocol.numbering import HOST_PREFIX_LENGTH
from orchestrator.testbed.network import rtnl

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.protocol.specification import HostSpec
    from orchestrator.testbed.kernel.netlink import Netlink

PREFIX_LENGTH = 32
"""Of the address, so that the kernel makes no route by itself."""


def add_routes(
    route: Netlink,
    index: int,
    host: HostSpec,
    hosts: Mapping[str, HostSpec],
    metrics: Mapping[int, int],
) -> None:
    """Queue the requests for the rule and the routes of a host with that interface index."""
    rtnl.add_rule(route, host["address"], index, f"{host['name']} rule")
    for place, prefix, table in _routes(host, hosts, index):
        rtnl.add_route(
            route, index, (place, prefix, table), host["address"], metrics,
            f"{host['name']} route to {place}",
        )  # fmt: skip


def requested(
    index: int, host: HostSpec, hosts: Mapping[str, HostSpec], metrics: Mapping[int, int]
) -> list[str]:
    """Return the routes as ``rtnl.routes`` reads them."""
    return [
        rtnl.route_text(f"{place}/{prefix}", None, host["address"], metrics)
        + ("" if table == rtnl.RT_TABLE_MAIN else f" table {table}")
        for place, prefix, table in _routes(host, hosts, index)
    ]


def _routes(
    host: HostSpec, hosts: Mapping[str, HostSpec], table: int
) -> Iterator[tuple[str, int, int]]:
    """Yield (address, prefix length, table) of each route."""
    network = socket.inet_ntoa(rtnl.network_of(host["address"], HOST_PREFIX_LENGTH))
    yield network, HOST_PREFIX_LENGTH, table
    earlier = {peer for other in _earlier(host, hosts) for peer in other["peers"]}
    for peer in host["peers"]:
        if peer not in earlier:
            yield hosts[peer]["address"], PREFIX_LENGTH, rtnl.RT_TABLE_MAIN


def _earlier(host: HostSpec, hosts: Mapping[str, HostSpec]) -> Sequence[HostSpec]:
    """Return the interfaces of the host's machine before it."""
    machine = [
        one for one in hosts.values() if one.get("machine", one["name"]) == host.get("machine")
    ]
    return machine[: machine.index(host)]
