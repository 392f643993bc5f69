"""Interfaces, addresses and neighbours over rtnetlink.

Source: include/uapi/linux/{rtnetlink,if_link,if_addr,neighbour,veth}.h. Functions queue their
request on a ``Netlink``, whose ``flush()`` sends it.
"""

from __future__ import annotations

import socket
import struct
import sys

from orchestrator.testbed.kernel import netlink as nl

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Mapping
    from typing import TypedDict

    from orchestrator.testbed.kernel.netlink import Netlink

    class Way(TypedDict):
        """How packets to an address leave."""

        index: int
        gateway: str | None
        source: str | None


RTM_NEWLINK, RTM_GETLINK = 16, 18
RTM_NEWADDR, RTM_GETADDR = 20, 22
RTM_NEWNEIGH = 28
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU = 1, 3, 4
IFLA_STATS64 = 23
IFLA_TXQLEN, IFLA_LINKINFO, IFLA_NET_NS_FD = 13, 18, 28
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFF_UP = 1
NUD_PERMANENT = 0x80

_IFINFO = struct.Struct("=BxHiII")
RTM_NEWROUTE, RTM_GETROUTE = 24, 26
RTM_NEWRULE = 32
_FRA_SRC, _FRA_TABLE, _FR_ACT_TO_TBL, _RTA_TABLE = 2, 15, 1, 15
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC, RTA_METRICS = 1, 4, 5, 7, 8
RT_TABLE_MAIN, RTPROT_KERNEL, RT_SCOPE_LINK, RTN_UNICAST = 254, 2, 253, 1
RTPROT_STATIC, RT_SCOPE_UNIVERSE = 4, 0
RT_TABLE_LOCAL, RTM_F_CLONED = 255, 0x200
_METRIC_NAMES = (
    "lock", "mtu", "window", "rtt", "rttvar", "ssthresh", "cwnd", "advmss", "reordering",
    "hoplimit", "initcwnd", "features", "rto_min", "initrwnd", "quickack", "congctl",
    "fastopen_no_cookie",
)  # fmt: skip
"""RTAX_LOCK, which is 1, and the following ones."""
IFA_LOCAL = 2
_HOST_BITS = 32
_RTMSG = struct.Struct("=8BI")


def mac_bytes(mac: str) -> bytes:
    """Return the six bytes of ``02:00:..`` notation."""
    return bytes(int(part, 16) for part in mac.split(":"))


class DeviceEnd:
    """One end of a new device: its name, index (0 for any), namespace and hardware address."""

    def __init__(
        self, name: str, index: int = 0, namespace_fd: int | None = None, mac: str | None = None
    ) -> None:
        self.name, self.index = name, index
        self.namespace_fd, self.mac = namespace_fd, mac

    def message(self) -> bytes:
        """Return the ifinfomsg and attributes that create this end."""
        body = _IFINFO.pack(0, 0, self.index, 0, 0)
        body += nl.attribute(IFLA_IFNAME, self.name) + nl.u32(IFLA_TXQLEN, 1000)
        if self.mac:
            body += nl.attribute(IFLA_ADDRESS, mac_bytes(self.mac))
        if self.namespace_fd is not None:
            body += nl.u32(IFLA_NET_NS_FD, self.namespace_fd)
        return body


def link_message(index: int) -> bytes:
    """Return the ifinfomsg of a request about an interface; index 0 selects it by its name."""
    return _IFINFO.pack(0, 0, index, 0, 0)


def add_veth(route: Netlink, end: DeviceEnd, peer: DeviceEnd) -> None:
    """Queue the request for a veth pair with these ends."""
    data = nl.attribute(VETH_INFO_PEER, peer.message())
    info = [nl.attribute(IFLA_INFO_KIND, "veth"), nl.attribute(IFLA_INFO_DATA, data)]
    body = end.message() + nl.attribute(IFLA_LINKINFO, info)
    flags = nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWLINK, flags, body, f"veth {end.name} - {peer.name}")


def set_up(route: Netlink, index: int, what: str, mtu: int | None = None) -> None:
    """Queue the request that sets an interface up."""
    body = _IFINFO.pack(0, 0, index, IFF_UP, IFF_UP)
    if mtu is not None:
        body += nl.u32(IFLA_MTU, mtu)
    route.queue(RTM_NEWLINK, 0, body, f"{what} up")


def add_address(route: Netlink, index: int, address: str, prefix: int, what: str) -> None:
    """Queue the request for an IPv4 address of an interface."""
    packed = socket.inet_aton(address)
    body = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index)
    body += nl.attribute(1, packed) + nl.attribute(2, packed)
    route.queue(RTM_NEWADDR, nl.NLM_F_CREATE | nl.NLM_F_EXCL, body, f"{what} address {address}")


def add_neighbour(route: Netlink, index: int, address: str, mac: str, what: str) -> None:
    """Queue the request for a permanent neighbour entry; ARP would have random timers."""
    body = struct.pack("=BxxxiHBB", socket.AF_INET, index, NUD_PERMANENT, 0, 0)
    body += nl.attribute(1, socket.inet_aton(address)) + nl.attribute(2, mac_bytes(mac))
    flags = nl.NLM_F_CREATE | nl.NLM_F_REPLACE
    route.queue(RTM_NEWNEIGH, flags, body, f"{what} neighbour {address}")


def network_of(address: str, prefix: int) -> bytes:
    """Return the four bytes of the network that has that address and prefix length."""
    own = int.from_bytes(socket.inet_aton(address), "big")
    return (own >> (_HOST_BITS - prefix) << (_HOST_BITS - prefix)).to_bytes(4, "big")


def set_route_metrics(
    route: Netlink, index: int, address: str, prefix: int, metrics: Mapping[int, int], what: str
) -> None:
    """Queue the request that gives {RTAX_*: value} to the route of an interface's own network."""
    network = network_of(address, prefix)
    body = _RTMSG.pack(
        socket.AF_INET, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_KERNEL, RT_SCOPE_LINK, RTN_UNICAST, 0
    )
    body += nl.attribute(RTA_DST, network) + nl.u32(RTA_OIF, index)
    body += nl.attribute(RTA_PREFSRC, socket.inet_aton(address))
    body += nl.attribute(RTA_METRICS, [nl.u32(int(kind), metrics[kind]) for kind in metrics])
    route.queue(RTM_NEWROUTE, nl.NLM_F_REPLACE, body, f"{what} route metrics")


def add_rule(route: Netlink, source: str, table: int, what: str) -> None:
    """Queue the request that lets packets from an address use a table of routes."""
    head = (socket.AF_INET, 0, _HOST_BITS, 0, 0, 0, 0, _FR_ACT_TO_TBL, 0)
    body = _RTMSG.pack(*head) + nl.attribute(_FRA_SRC, socket.inet_aton(source))
    body += nl.u32(_FRA_TABLE, table)
    route.queue(RTM_NEWRULE, nl.NLM_F_CREATE | nl.NLM_F_EXCL, body, what)


def add_route(
    route: Netlink,
    index: int,
    destination: tuple[str, int, int],
    source: str,
    metrics: Mapping[int, int],
    what: str,
) -> None:
    """Queue the request for a route over an interface without a gateway.

    ``destination`` is the network's address, its prefix length, and the table.
    """
    address, prefix, table = destination
    head = (socket.AF_INET, prefix, 0, 0, 0, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0)
    body = _RTMSG.pack(*head) + nl.attribute(RTA_DST, socket.inet_aton(address))
    body += nl.u32(RTA_OIF, index) + nl.attribute(RTA_PREFSRC, socket.inet_aton(source))
    body += nl.u32(_RTA_TABLE, table)
    if metrics:
        body += nl.attribute(RTA_METRICS, [nl.u32(kind, value) for kind, value in metrics.items()])
    route.queue(RTM_NEWROUTE, nl.NLM_F_CREATE | nl.NLM_F_EXCL, body, what)


def way_to(route: Netlink, destination: str) -> Way | None:
    """Return the route of packets to that address, None where the host has none.

    The gateway is None where the destination is a neighbour.
    """
    body = _RTMSG.pack(socket.AF_INET, _HOST_BITS, 0, 0, 0, 0, 0, 0, 0)
    body += nl.attribute(RTA_DST, socket.inet_aton(destination))
    data = route.ask(RTM_GETROUTE, body)
    if not data:
        return None
    attributes = nl.parse_attributes(data, nl.HEADER_BYTES + _RTMSG.size)
    if RTA_OIF not in attributes:
        return None
    gateway, source = (
        socket.inet_ntoa(attributes[kind]) if kind in attributes else None
        for kind in (RTA_GATEWAY, RTA_PREFSRC)
    )
    (index,) = struct.unpack("=I", attributes[RTA_OIF])
    return {"index": index, "gateway": gateway, "source": source}


def host_route(destination: str, scope: int = RT_SCOPE_UNIVERSE) -> bytes:
    """Return the message for a static route to one host in the main table, without its next hop."""
    head = (socket.AF_INET, _HOST_BITS, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST, 0)
    return _RTMSG.pack(*head) + nl.attribute(RTA_DST, socket.inet_aton(destination))


def add_host_route(route: Netlink, destination: str, way: Way, metrics: Mapping[int, int]) -> None:
    """Queue the request for a new route to one host, with the next hop that ``way_to`` returned."""
    body = host_route(
        destination, RT_SCOPE_LINK if way["gateway"] is None else RT_SCOPE_UNIVERSE
    ) + nl.u32(RTA_OIF, way["index"])
    for kind, address in ((RTA_GATEWAY, way["gateway"]), (RTA_PREFSRC, way["source"])):
        if address is not None:
            body += nl.attribute(kind, socket.inet_aton(address))
    body += nl.attribute(RTA_METRICS, [nl.u32(kind, value) for kind, value in metrics.items()])
    flags = nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWROUTE, flags, body, f"route to {destination}")


def addresses(route: Netlink) -> dict[int, list[tuple[str, int]]]:
    """Return {interface index: [IPv4 address and prefix length, ...]} in the kernel's order."""
    by_interface: dict[int, list[tuple[str, int]]] = {}
    for kind, data, start, end in route.dump(RTM_GETADDR, struct.pack("=BBBBi", 2, 0, 0, 0, 0)):
        if kind == RTM_NEWADDR and data[start] == socket.AF_INET:
            prefix, index = data[start + 1], struct.unpack_from("=i", data, start + 4)[0]
            attributes = nl.parse_attributes(data, start + 8, end)
            if IFA_LOCAL in attributes:
                address = socket.inet_ntoa(attributes[IFA_LOCAL])
                by_interface.setdefault(index, []).append((address, prefix))
    return by_interface


def route_metrics(route: Netlink, index: int, destination: str | None = None) -> dict[int, int]:
    """Return the metrics {RTAX_*: value} of the main table's routes over an interface.

    With a ``destination``, only the route to that host is used.
    """
    request = _RTMSG.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
    by_kind: dict[int, int] = {}
    for kind, data, start, end in route.dump(RTM_GETROUTE, request):
        attributes = nl.parse_attributes(data, start + _RTMSG.size, end)
        table, over = data[start + 4], attributes.get(RTA_OIF)
        if kind != RTM_NEWROUTE or table != RT_TABLE_MAIN or over is None:
            continue
        if destination is not None and (
            data[start + 1] != _HOST_BITS
            or attributes.get(RTA_DST) != socket.inet_aton(destination)
        ):
            continue
        if struct.unpack("=I", over)[0] == index and RTA_METRICS in attributes:
            metrics = nl.parse_attributes(attributes[RTA_METRICS])
            by_kind |= {kind: struct.unpack("=I", value)[0] for kind, value in metrics.items()}
    return by_kind


def routes(route: Netlink) -> Iterator[tuple[int, str]]:
    """Yield (interface index, text) of IPv4 routes of all tables; see ``route_text``.

    It leaves out the local and broadcast routes that the kernel makes for each address, and what
    the kernel has learned about single destinations. The index is 0 for a route without interface.
    """
    request = _RTMSG.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
    for answer, data, start, end in route.dump(RTM_GETROUTE, request):
        _f, prefix, _s, _tos, table, protocol, _scope, kind, flags = _RTMSG.unpack_from(data, start)
        own = table == RT_TABLE_LOCAL and protocol == RTPROT_KERNEL
        if answer != RTM_NEWROUTE or own or flags & RTM_F_CLONED:
            continue
        attributes = nl.parse_attributes(data, start + _RTMSG.size, end)
        network, gateway, source = (
            socket.inet_ntoa(attributes[kind]) if kind in attributes else None
            for kind in (RTA_DST, RTA_GATEWAY, RTA_PREFSRC)
        )
        metrics = {
            kind: int.from_bytes(value[:4], sys.byteorder)
            for kind, value in nl.parse_attributes(attributes.get(RTA_METRICS, b"")).items()
        }
        text = route_text(f"{network or '0.0.0.0'}/{prefix}", gateway, source, metrics)
        text += "" if table == RT_TABLE_MAIN else f" table {table}"
        text += "" if kind == RTN_UNICAST else f" type {kind}"
        yield int.from_bytes(attributes.get(RTA_OIF, b""), sys.byteorder), text


def route_text(
    network: str, gateway: str | None, source: str | None, metrics: Mapping[int, int]
) -> str:
    """Return a route to a network as text, such as "10.0.0.0/8 src 10.0.0.1 initcwnd 10"."""
    parts = [network]
    parts += [f"via {gateway}"] if gateway else []
    parts += [f"src {source}"] if source else []
    return " ".join(parts + [f"{_metric_name(kind)} {metrics[kind]}" for kind in sorted(metrics)])


def _metric_name(kind: int) -> str:
    """Return the name that ip-route(8) has for RTAX_*."""
    return _METRIC_NAMES[kind - 1] if 0 < kind <= len(_METRIC_NAMES) else f"metric {kind}"


def links(route: Netlink) -> dict[int, tuple[str, bool, int]]:
    """Return {interface index: (name, whether it is up, MTU)}."""
    by_index = {}
    for _kind, data, start, end in route.dump(RTM_GETLINK, link_message(0)):
        _family, _type, index, flags, _change = _IFINFO.unpack_from(data, start)
        attributes = nl.parse_attributes(data, start + _IFINFO.size, end)
        name = bytes(attributes[IFLA_IFNAME]).rstrip(b"\0").decode()
        (mtu,) = struct.unpack("=I", attributes[IFLA_MTU])
        by_index[index] = name, bool(flags & IFF_UP), mtu
    return by_index


def interfaces(route: Netlink) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Return {name: (index, statistics)} of the socket's namespace.

    Statistics are struct rtnl_link_stats64's first eight counters: rx_packets, tx_packets,
    rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped, tx_dropped.
    """
    by_name = {}
    for _kind, data, start, end in route.dump(RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0)):
        index = _IFINFO.unpack_from(data, start)[2]
        attributes = nl.parse_attributes(data, start + _IFINFO.size, end)
        name = bytes(attributes[IFLA_IFNAME]).rstrip(b"\0").decode()
        counters = struct.unpack_from("=8Q", attributes[IFLA_STATS64])
        by_name[name] = (index, counters)
    return by_name
