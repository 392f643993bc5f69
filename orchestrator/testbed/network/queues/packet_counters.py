"""Reads how many packets passed each place of the network, all places at one time.

In a guest the readings take no virtual time, so no packet moves while they are made. On a real
machine packets move, so a second reading follows. What differs between the two has moved.

Sockets and files of all namespaces stay open, because each system call is expensive in a guest.
"""

from __future__ import annotations

import struct

from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    LINK_HANDLE,
    NETEM_HANDLE,
    QUEUE_HANDLE,
)
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import snmp
from orchestrator.testbed.network import redirect, rtnl
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

    Files = tuple[int, int]

_RECEIVED, _TRANSMITTED = 0, 1
"""Places in the statistics of rtnl.interfaces()."""
_WORDS = struct.Struct("<8I")
_PACKETS, _DROPS, _WAITING = 2, 3, 7
"""Places in the words of qdisc_counters.NamespaceCounters and redirect.Policers."""
_PROTOCOLS = ("Ip", "Icmp", "Tcp", "Udp")


class PacketCounters:
    """Reads the counters of a network; one thread may use it.

    Args:
        bed: the built network.
        time_stands_still: no packet moves during a reading.
    """

    def __init__(self, bed: Bed, time_stands_still: bool) -> None:
        self._bed = bed
        self._still = time_stands_still
        self._files: dict[str, Files] = {}
        for host in bed.spec["hosts"]:
            with bed.enter(host["name"]):
                self._files[host["name"]] = snmp.opened("snmp"), snmp.opened("netstat")

    def read(self) -> dict[str, Any]:
        """Return the values of the fact "packets": a reading, and another one if it differs."""
        first = _reading(self._bed, self._files)
        second = first if self._still else _reading(self._bed, self._files)
        return {**first} if first == second else {**first, "again": second}


def _reading(bed: Bed, files: Mapping[str, Files]) -> PacketReading:
    words = _qdisc_words(bed)
    nodes = {name: rtnl.interfaces(bed.host(name).route) for name in files}
    wires, switches = rtnl.interfaces(bed.wires), rtnl.interfaces(bed.route)
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
                if bed.spec.get("tso_hosts"):
                    _add_super_packets(entry, bed, link.device(sink)[1])
            channels[f"{name}:{direction}"] = entry
    hosts = {
        name: _host(*files[name], nodes[name].get("lo", (0, (0, 0)))[1][_RECEIVED])
        for name in nodes
    }
    return {"channels": channels, "hosts": hosts}


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


def _add_super_packets(entry: ChannelPackets, bed: Bed, index: int) -> None:
    """Add the super-packets that a link has cut, and those that it has carried whole.

    Raises:
        BuildError: the kernel's module counts none.
    """
    statistics = qdisc_counters.link_statistics(bed.wires, index)
    if statistics is None:
        raise BuildError(f"the link of interface {index} has no statistics")
    names = ("cut_packets", "cut_frames", "aggregates")
    cut, frames, aggregates = (statistics[name] for name in names)
    entry["super_packets"] = cut, frames, aggregates


def _policer(bed: Bed, link: Link, end: str) -> tuple[int, int]:
    """Return the packets that passed a policer, and those dropped."""
    row = _WORDS.unpack(redirect.Policers(bed.wires, [link.device(end)[1]]).sample())
    return row[_PACKETS], row[_DROPS]


def _host(snmp_file: int, netstat_file: int, looped: int) -> HostPackets:
    """Return what a host's protocols sent and received, without the loopback device's packets.

    TCP's OutSegs leaves out retransmissions, but not those of SYN-ACKs, which RetransSegs has, too.
    """
    own = snmp.values(snmp_file, _PROTOCOLS)
    netstat = snmp.values(netstat_file, ("TcpExt",))
    fragments = own["Ip:FragCreates"] - own["Ip:FragOKs"]
    segments = own["Tcp:OutSegs"] + own["Tcp:RetransSegs"]
    datagrams = own["Udp:OutDatagrams"] + own["Icmp:OutMsgs"]
    return {
        "ip": own["Ip:OutRequests"] + fragments - looped,
        "transport": segments + datagrams + fragments - looped,
        "twice": netstat["TcpExt:TCPSynRetrans"],
        "delivered": own["Ip:InDelivers"] - own["Ip:ReasmOKs"] + own["Ip:ReasmReqds"] - looped,
    }
