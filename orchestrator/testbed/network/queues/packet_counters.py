"""Reads how many packets passed each place of the network, all places at one time.

In a guest the readings take no virtual time, so no packet moves while they are made. On a real
machine packets move, so a second reading follows. What differs between the two has moved.
"""

from __future__ import annotations

import struct

from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    LINK_HANDLE,
    NETEM_HANDLE,
    QUEUE_HANDLE,
)
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network import readback, redirect, rtnl
from orchestrator.testbed.network.queues import qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Mapping
    from typing import Any

    from orchestrator.protocol.reports.packet_facts import (
        ChannelPackets,
        HostPackets,
        PacketReading,
    )
    from orchestrator.testbed.bed import Link
    from orchestrator.testbed.network.build import Bed

    Interfaces = Mapping[str, tuple[int, tuple[int, ...]]]

_RECEIVED, _TRANSMITTED = 0, 1
"""Places in the statistics of rtnl.interfaces()."""
_WORDS = struct.Struct("<8I")
_PACKETS, _DROPS, _WAITING = 2, 3, 7
"""Places in the words of qdisc_counters.NamespaceCounters and redirect.Policers."""


def read(bed: Bed) -> dict[str, Any]:
    """Return two readings for the fact "packets"; the second only where it differs."""
    first, second = _reading(bed), _reading(bed)
    return {**first} if first == second else {**first, "again": second}


def _reading(bed: Bed) -> PacketReading:
    words = _qdisc_words(bed)
    nodes = {name: _interfaces(bed, host.namespace_fd) for name, host in _hosts(bed).items()}
    wires, switches = _interfaces(bed, bed.wires_fd), _interfaces(bed, bed.home_fd)
    channels: dict[str, ChannelPackets] = {}
    for name, link in bed.links.items():
        ends = {
            end: nodes.get(node, switches)[interface.name][1]
            for end, node, interface in (
                ("a", link.spec["a"], link.intf1),
                ("b", link.spec["b"], link.intf2),
            )
        }
        for direction, (source, sink) in CHANNEL_ENDS.items():
            entry: ChannelPackets = {
                "sent": ends[source][_TRANSMITTED],
                "entered": wires[link.device(source)[0]][1][_RECEIVED],
                "exited": wires[link.device(sink)[0]][1][_TRANSMITTED],
                "received": ends[sink][_RECEIVED],
            }
            spec = link.spec[direction]
            if spec["policer"] is not None:
                entry["policer"] = _policer(bed, link, source)
            if spec["link"] is not None:
                _add_link(entry, words, link.device(sink)[1])
            channels[f"{name}:{direction}"] = entry
    hosts = {
        name: _host(bed, name, nodes[name].get("lo", (0, (0, 0)))[1][_RECEIVED]) for name in nodes
    }
    return {"channels": channels, "hosts": hosts}


def _hosts(bed: Bed) -> dict[str, Any]:
    return {host["name"]: bed.host(host["name"]) for host in bed.spec["hosts"]}


def _interfaces(bed: Bed, namespace_fd: int) -> Interfaces:
    with system.inside(namespace_fd, bed.home_fd):
        route = netlink.Netlink()
        interfaces = rtnl.interfaces(route)
        route.close()
    return interfaces


def _qdisc_words(bed: Bed) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the eight words of each qdisc in wires by (interface index, handle)."""
    counters = qdisc_counters.NamespaceCounters(bed.wires, {})
    rows = _WORDS.iter_unpack(counters.sample())
    return dict(zip(counters.names, rows, strict=True))


def _add_link(
    entry: ChannelPackets, words: Mapping[tuple[int, int], tuple[int, ...]], index: int
) -> None:
    """Add the packets in and behind the queue of a link that packets leave by that interface.

    sch_link counts a packet as sent when its transmission begins. All that it has are waiting in
    its queue, being transmitted, or on their way.
    """
    link = words[(index, LINK_HANDLE)]
    nothing = (0,) * len(link)
    queue, netem = words.get((index, QUEUE_HANDLE), nothing), words.get((index, NETEM_HANDLE))
    passed, dropped = entry["exited"], 0
    if netem is not None:
        passed, dropped = netem[_PACKETS], netem[_DROPS]
    entry["queue"] = link[_PACKETS], queue[_DROPS], queue[_WAITING]
    entry["delay"] = passed, dropped, link[_WAITING] - queue[_WAITING]


def _policer(bed: Bed, link: Link, end: str) -> tuple[int, int]:
    """Return the packets that passed a policer, and those dropped."""
    row = _WORDS.unpack(redirect.Policers(bed.wires, [link.device(end)[1]]).sample())
    return row[_PACKETS], row[_DROPS]


def _host(bed: Bed, name: str, looped: int) -> HostPackets:
    """Return what a host's protocols sent and received, without the loopback device's packets.

    TCP's OutSegs leaves out retransmissions, but not those of SYN-ACKs, which RetransSegs has, too.
    """
    with bed.enter(name):
        snmp = readback.protocol_counters("snmp")
        netstat = readback.protocol_counters("netstat")
    fragments = snmp["Ip:FragCreates"] - snmp["Ip:FragOKs"]
    segments = snmp["Tcp:OutSegs"] + snmp["Tcp:RetransSegs"]
    datagrams = snmp["Udp:OutDatagrams"] + snmp["Icmp:OutMsgs"]
    return {
        "ip": snmp["Ip:OutRequests"] + fragments - looped,
        "transport": segments + datagrams + fragments - looped,
        "twice": netstat["TcpExt:TCPSynRetrans"],
        "delivered": snmp["Ip:InDelivers"] - snmp["Ip:ReasmOKs"] + snmp["Ip:ReasmReqds"] - looped,
    }
