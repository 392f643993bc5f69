"""Reads how many packets passed each place of the network, all places at one time.

In a guest the readings take no virtual time, so no packet moves while they are made. On a real
machine packets move, so a second reading follows. What differs between the two has moved.

Sockets and files of all namespaces stay open, because each system call is expensive in a guest.
"""

from __future__ import annotations

import struct

from orchestrator.protocol.links.link import has_ring
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
_OF_CODEPOINTS = tuple(f"IpExt:In{name}Pkts" for name in ("NoECT", "ECT1", "ECT0", "CE"))


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
        for name in dict.fromkeys(bed.place(host["name"]) for host in bed.spec["hosts"]):
            with bed.enter(name):
                self._files[name] = snmp.opened("snmp"), snmp.opened("netstat")

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
            end: nodes.get(interface.node.name, switches)[interface.name][1]
            for end, interface in (("a", link.intf1), ("b", link.intf2))
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
                index = link.device(sink)[1]
                ring = _statistics(bed, index) if has_ring(spec["link"]) else None
                _add_link(entry, words, index, ring)
                if bed.spec.get("tso_hosts"):
                    _add_super_packets(entry, _statistics(bed, index))
            channels[f"{name}:{direction}"] = entry
    hosts = {
        name: _host(
            *files[name],
            nodes[name].get("lo", (0, (0, 0)))[1][_RECEIVED],
            name in map(bed.place, bed.spec.get("gro_hosts", ())),
        )
        for name in nodes
    }
    return {"channels": channels, "hosts": hosts}


def _qdisc_words(bed: Bed) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the eight words of each qdisc in wires by (interface index, handle)."""
    counters = qdisc_counters.NamespaceCounters(bed.wires, {})
    rows = _WORDS.iter_unpack(counters.sample())
    return dict(zip(counters.names, rows, strict=True))


def _add_link(
    entry: ChannelPackets,
    words: Mapping[tuple[int, int], tuple[int, ...]],
    index: int,
    ring: Mapping[str, int] | None = None,
) -> None:
    """Add the packets in and behind the queue of a link that packets leave by that interface.

    sch_link counts a packet as sent when its transmission begins. All that it has are waiting in
    its queue, being transmitted, on their way, or in the receive ring, whose statistics are given.
    """
    link = words[(index, LINK_HANDLE)]
    nothing = (0,) * len(link)
    queue, netem = words.get((index, QUEUE_HANDLE), nothing), words.get((index, NETEM_HANDLE))
    passed, dropped, in_ring = entry["exited"], 0, 0
    if ring is not None:
        delivered, lost, in_ring = ring["ring_delivered"], ring["ring_drops"], ring["ring_frames"]
        entry["ring"], entry["interrupts"] = (delivered, lost, in_ring), ring["ring_interrupts"]
        passed = delivered + lost + in_ring
    if netem is not None:
        passed, dropped = netem[_PACKETS], netem[_DROPS]
    entry["queue"] = link[_PACKETS], queue[_DROPS], queue[_WAITING]
    entry["delay"] = passed, dropped, link[_WAITING] - queue[_WAITING] - in_ring


def _statistics(bed: Bed, index: int) -> dict[str, int]:
    """Return the statistics of the link that packets leave by an interface.

    Raises:
        BuildError: the kernel's module has none.
    """
    statistics = qdisc_counters.link_statistics(bed.wires, index)
    if statistics is None:
        raise BuildError(f"the link of interface {index} has no statistics")
    return statistics


def _add_super_packets(entry: ChannelPackets, statistics: Mapping[str, int]) -> None:
    """Add the super-packets that a link has cut, and those that it has carried whole."""
    names = ("cut_packets", "cut_frames", "aggregates")
    cut, frames, aggregates = (statistics[name] for name in names)
    entry["super_packets"] = cut, frames, aggregates


def _policer(bed: Bed, link: Link, end: str) -> tuple[int, int]:
    """Return the packets that passed a policer, and those dropped."""
    row = _WORDS.unpack(redirect.Policers(bed.wires, [link.device(end)[1]]).sample())
    return row[_PACKETS], row[_DROPS]


def _host(snmp_file: int, netstat_file: int, looped: int, merges: bool) -> HostPackets:
    """Return what a host's protocols sent and received, without the loopback device's packets.

    TCP's OutSegs leaves out retransmissions, but not those of SYN-ACKs, which RetransSegs has, too.
    What GRO has merged counts once in InReceives and InDelivers, and by its segments in the
    counters of ECN codepoints (ip_rcv_core() of net/ipv4/ip_input.c).
    """
    own = snmp.values(snmp_file, _PROTOCOLS)
    netstat = snmp.values(netstat_file, ("TcpExt", "IpExt"))
    merged = sum(netstat[name] for name in _OF_CODEPOINTS) - own["Ip:InReceives"] if merges else 0
    fragments = own["Ip:FragCreates"] - own["Ip:FragOKs"]
    segments = own["Tcp:OutSegs"] + own["Tcp:RetransSegs"]
    datagrams = own["Udp:OutDatagrams"] + own["Icmp:OutMsgs"]
    delivered = own["Ip:InDelivers"] - own["Ip:ReasmOKs"] + own["Ip:ReasmReqds"]
    return {
        "ip": own["Ip:OutRequests"] + fragments - looped,
        "transport": segments + datagrams + fragments - looped,
        "twice": netstat["TcpExt:TCPSynRetrans"],
        "delivered": delivered - looped + merged,
    }
