"""Queueing disciplines over rtnetlink: set, read back, count.

A direction of a link is a sch_link (kmods/sch_link.c) at the interface where packets leave. Below
it are the queue, and the netem where packets are impaired. The settings of all of them come as
plain data (protocol/specification.py, SettingSpec), so this module knows no kind of queue.
Structures are those of include/uapi/linux/pkt_sched.h. Functions named ``add_*`` queue a request.
``read`` returns what the kernel reports.
"""

from __future__ import annotations

import operator
import struct

from orchestrator.protocol.numbering import (
    LINK_HANDLE,
    NETEM_CLASS,
    NETEM_HANDLE,
    QUEUE_CLASS,
    QUEUE_HANDLE,
)
from orchestrator.testbed.kernel import netlink as nl

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from orchestrator.protocol.specification import QueueSpec, SettingSpec, WordSpec

    Value = int | str
    Span = tuple[int, int]

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
_TCA_STATS_APP = 4
FIFOS = ("pfifo", "bfifo")
TC_H_ROOT, TC_H_CLSACT = 0xFFFFFFFF, 0xFFFFFFF1
INGRESS, EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS / _EGRESS)

TCMSG = struct.Struct("=BxxxiIII")
_OURS = (LINK_HANDLE, QUEUE_HANDLE, NETEM_HANDLE)


def _request(
    route: nl.Netlink,
    index: int,
    parent: int,
    handle: int,
    kind: str,
    options: nl.Payload | None,
    what: str,
    change: bool = False,
    nested: bool = False,
) -> None:
    body = TCMSG.pack(0, index, handle, parent, 0) + nl.attribute(TCA_KIND, kind)
    if options is not None:
        # sch_fq_pie requires the flag; options that begin with a structure must not have it.
        flag = nl.NLA_F_NESTED if nested else 0
        body += nl.attribute(TCA_OPTIONS | flag, options)
    flags = nl.NLM_F_REPLACE if change else nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWQDISC, flags, body, what)


def add_link(route: nl.Netlink, index: int, link: QueueSpec, what: str) -> None:
    """Queue the request for the link that an interface's packets pass: its root qdisc."""
    options, what = pack(link["settings"]), f"{what} {link['kind']}"
    _request(route, index, TC_H_ROOT, LINK_HANDLE, link["kind"], options, what)


def change_root(route: nl.Netlink, index: int, kind: str, options: nl.Payload, what: str) -> None:
    """Queue other options, as packed attributes, for an interface's root qdisc."""
    _request(route, index, TC_H_ROOT, LINK_HANDLE, kind, options, what, change=True)


def add_queue(
    route: nl.Netlink, index: int, queue: QueueSpec, what: str, change: bool = False
) -> None:
    """Queue the request for the queue of packets that wait for transmission."""
    settings = _sent(queue, change)
    _request(
        route,
        index,
        QUEUE_CLASS,
        QUEUE_HANDLE,
        queue["kind"],
        pack(settings),
        f"{what} {queue['kind']}",
        change,
        nested=all(setting["attribute"] for setting in settings),
    )


def remove_queue(route: nl.Netlink, index: int, what: str) -> None:
    """Queue the request that removes the queue of packets that wait for transmission."""
    body = TCMSG.pack(0, index, QUEUE_HANDLE, QUEUE_CLASS, 0)
    route.queue(RTM_DELQDISC, 0, body, f"{what} without queue")


def add_netem(
    route: nl.Netlink, index: int, netem: QueueSpec, what: str, change: bool = False
) -> None:
    """Queue the request for the netem that packets pass after their transmission."""
    options, what = pack(_sent(netem, change)), f"{what} {netem['kind']}"
    _request(route, index, NETEM_CLASS, NETEM_HANDLE, netem["kind"], options, what, change)


def _sent(spec: QueueSpec, change: bool) -> list[SettingSpec]:
    """Return the settings to send: a change leaves out those that are set only at creation."""
    return [setting for setting in spec["settings"] if not (change and setting["once"])]


def pack(settings: Iterable[SettingSpec]) -> bytes:
    """Return the payload of TCA_OPTIONS: the fixed structure, if any, and then the attributes."""
    payloads: dict[tuple[int, ...], bytearray] = {}
    for setting in settings:
        form, value, offset = setting["format"], setting["value"], setting["offset"]
        payload = payloads.setdefault(tuple(setting["attribute"]), bytearray())
        data = bytes.fromhex(str(value)) if form == "s" else struct.pack(f"={form}", value)
        payload.extend(bytes(max(0, offset + len(data) - len(payload))))
        payload[offset : offset + len(data)] = data
    return bytes(payloads.pop((), b"")) + _nested(payloads)


def _nested(payloads: Mapping[tuple[int, ...], bytes | bytearray]) -> bytes:
    """Return the attributes of {path: payload}; paths with the same start share an attribute."""
    groups: dict[int, dict[tuple[int, ...], bytes]] = {}
    for path, payload in payloads.items():
        groups.setdefault(path[0], {})[path[1:]] = bytes(payload)
    return b"".join(
        nl.attribute(kind, inner[()])
        if () in inner
        else nl.attribute(kind | nl.NLA_F_NESTED, _nested(inner))
        for kind, inner in groups.items()
    )


def unpack(settings: Sequence[SettingSpec], options: bytes) -> dict[str, Value | None]:
    """Return {name: value} of the compared settings from the kernel's TCA_OPTIONS.

    The value is None where the kernel does not report the setting.
    """
    ends = (each["offset"] + _size(each) for each in settings if not each["attribute"])
    fixed = max(ends, default=0)
    found: dict[str, Value | None] = {}
    for setting in settings:
        if setting["expected"] is not None:
            path, offset, size = setting["attribute"], setting["offset"], _size(setting)
            place = options if not path else _attribute(options, path, fixed)
            found[setting["name"]] = (
                None
                if place is None
                # Bytes are compared to their end, which a longer list has elsewhere.
                else bytes(place[offset:]).hex()
                if setting["format"] == "s"
                else _value(place[offset : offset + size], setting["format"], size)
            )
    return found


def _size(setting: SettingSpec) -> int:
    """Return the size of a setting's value in bytes."""
    form = setting["format"]
    return len(str(setting["value"])) // 2 if form == "s" else struct.calcsize(f"={form}")


def _value(data: bytes, form: str, size: int) -> int | None:
    if len(data) < size:
        return None
    return int(struct.unpack(f"={form}", data)[0])


def _attribute(data: bytes, path: Iterable[int], start: int) -> bytes | None:
    """Return the payload of the attribute at ``path``, None where it is missing."""
    for kind in path:
        inner = nl.parse_attributes(data, start).get(kind)
        if inner is None:
            return None
        data, start = inner, 0
    return data


def add_classifier_hook(route: nl.Netlink, index: int, what: str) -> None:
    """Queue the request for the clsact qdisc, which holds the redirections."""
    _request(route, index, TC_H_CLSACT, TC_H_CLSACT & 0xFFFF0000, "clsact", None, f"{what} clsact")


class Counters:
    """Samples the counters of every qdisc of a namespace, with one dump for each sample.

    Args:
        route: a netlink socket in that namespace.
        words: further words of 32 bits to sample, by (interface index, handle) of the qdisc.
        only: indices of the interfaces whose qdiscs are ours; None where all are.

    ``names`` has (interface index, handle) in the order in which ``sample()`` packs the qdiscs.
    Each has eight little-endian u32: bytes (low, high), packets, drops, overlimits, requeues,
    backlog bytes, backlog packets. The further words of all qdiscs follow in the same order. The
    layout of a dump changes only when a qdisc does. So the places of all words are located once,
    and each sample then picks all of them in one step.
    """

    def __init__(
        self,
        route: nl.Netlink,
        words: Mapping[tuple[int, int], Sequence[WordSpec]],
        only: Collection[int] | None = None,
    ) -> None:
        self._route, self._words, self._only = route, words, only
        self._length: int | None = None
        self.names: list[tuple[int, int]] = []
        self._pick: Callable[[Any], tuple[int, ...]]
        self._pack: Callable[..., bytes]
        self.sample()

    def forget(self) -> None:
        """Locate the words again: the options before the counters may have another size."""
        self._length = None

    def sample(self) -> bytes:
        """Return the packed counters of all qdiscs now."""
        data = self._route.dump_raw(RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0))
        if len(data) != self._length:
            self._learn(data)
        return self._pack(*self._pick(memoryview(data).cast("I")))

    def _learn(self, data: bytes) -> None:
        names: list[tuple[int, int]] = []
        common: list[int] = []
        further: list[int] = []
        for kind, _flags, _sequence, start, end in nl.messages(data):
            if kind != RTM_NEWQDISC:
                continue
            _family, index, handle, _parent, _info = TCMSG.unpack_from(data, start)
            ours = self._only is None or index in self._only
            if ours and handle in _OURS:
                names.append((index, handle))
                common += counter_places(data, start + TCMSG.size, end, [TCA_STATS2])
                for word in self._words.get((index, handle), ()):
                    place, _end = _place(data, start + TCMSG.size, end, word["attribute"])
                    further.append(place + word["offset"])
        if self.names and names != self.names:
            raise nl.NetlinkError(0, "the qdiscs of the bed changed during the run")
        self.names = names
        self._length = len(data)
        self._pick = operator.itemgetter(*[place // 4 for place in common + further])
        self._pack = struct.Struct(f"<{len(common) + len(further)}I").pack


def counter_places(data: bytes, start: int, end: int, path: Iterable[int]) -> list[int]:
    """Return the offsets in bytes of the eight words that ``Counters`` packs, below ``path``."""
    stats = places(data, *_place(data, start, end, path))
    basic, queue = stats[1][0], stats[3][0]  # TCA_STATS_BASIC, TCA_STATS_QUEUE
    # struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
    drops, overlimits, requeues, backlog, qlen = (queue + 4 * word for word in (2, 4, 3, 1, 0))
    return [basic, basic + 4, basic + 8, drops, overlimits, requeues, backlog, qlen]


def _place(data: bytes, start: int, end: int, path: Iterable[int]) -> Span:
    """Return (start, end) of the attribute's payload at ``path``."""
    for kind in path:
        start, end = places(data, start, end)[kind]
    return start, end


def places(data: bytes, offset: int, end: int) -> dict[int, Span]:
    """Return {attribute type: (start, end of its payload)}."""
    found = {}
    while offset + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, offset)
        found[kind & nl.NLA_TYPE_MASK] = (offset + 4, offset + length)
        offset += (length + 3) & ~3
    return found


def read(route: nl.Netlink) -> dict[tuple[int, int], tuple[str, bytes]]:
    """Return {(interface index, handle): (kind, its TCA_OPTIONS)} of all qdiscs."""
    found: dict[tuple[int, int], tuple[str, bytes]] = {}
    for _kind, data, start, end in route.dump(RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0)):
        _family, index, handle, _parent, _info = TCMSG.unpack_from(data, start)
        attributes = nl.parse_attributes(data, start + TCMSG.size, end)
        kind = bytes(attributes[TCA_KIND]).rstrip(b"\0").decode()
        found[(index, handle)] = kind, bytes(attributes.get(TCA_OPTIONS, b""))
    return found


def listed(route: nl.Netlink) -> Iterator[tuple[int, str, int, int]]:
    """Yield (interface index, kind, handle, parent) of every qdisc that the kernel reports."""
    for _kind, data, start, end in route.dump(RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0)):
        _family, index, handle, parent, _info = TCMSG.unpack_from(data, start)
        attributes = nl.parse_attributes(data, start + TCMSG.size, end)
        yield index, bytes(attributes[TCA_KIND]).rstrip(b"\0").decode(), handle, parent


def text(kind: str, handle: int, parent: int) -> str:
    """Return a qdisc as text, such as "link 1: root", "pfifo 10: below 1:" or "clsact ffff:"."""
    places = {TC_H_ROOT: " root", TC_H_CLSACT: ""}
    return f"{kind} {handle >> 16:x}:{places.get(parent, f' below {parent >> 16:x}:')}"


def foreign(route: nl.Netlink, wanted: int) -> list[str]:
    """Return an interface's qdiscs that are not the kernel's defaults, such as ["htb 1:"].

    The kernel's own qdiscs have the handle 0, and so have those below an mq.
    """
    return [
        f"{kind} {handle >> 16:x}:"
        for index, kind, handle, parent in listed(route)
        if index == wanted and handle and parent in (TC_H_ROOT, TC_H_CLSACT)
    ]


def root_kind(route: nl.Netlink, wanted: int) -> str | None:
    """Return the kind of an interface's root qdisc, None when the kernel reports none."""
    kinds = (
        kind
        for index, kind, _handle, parent in listed(route)
        if index == wanted and parent == TC_H_ROOT
    )
    return next(kinds, None)


class OneCounters:
    """Samples the counters of one qdisc below a link, as ``Counters`` packs them.

    The link is asked first: a FIFO below it may still have what has been sent by now.
    """

    def __init__(self, route: nl.Netlink, index: int, handle: int) -> None:
        self._route, self._body = route, TCMSG.pack(0, index, handle, 0, 0)
        self._link = TCMSG.pack(0, index, LINK_HANDLE, 0, 0)
        self._length, self._places = -1, [0]

    def sample(self) -> bytes:
        """Return the packed counters of the qdisc now."""
        self._route.ask(RTM_GETQDISC, self._link, nl.NLM_F_ECHO)
        data = self._route.ask(RTM_GETQDISC, self._body, nl.NLM_F_ECHO)
        if len(data) != self._length:
            self._length = len(data)
            self._places = counter_places(data, 16 + TCMSG.size, len(data), [TCA_STATS2])
        return b"".join([data[place : place + 4] for place in self._places])


def link_statistics(route: nl.Netlink, index: int) -> bytes | None:
    """Return the statistics of an interface's link that only sch_link has, None without any."""
    data = route.ask(RTM_GETQDISC, TCMSG.pack(0, index, LINK_HANDLE, 0, 0), nl.NLM_F_ECHO)
    return _attribute(data, [TCA_STATS2, _TCA_STATS_APP], 16 + TCMSG.size) if data else None


def decided(route: nl.Netlink, index: int) -> tuple[int, int, int]:
    """Return (packets, drops, requeues) of an interface's netem since it was made.

    Packets are those that left it, wait in it, or were dropped. Each number has 32 bits.
    """
    _low, _high, packets, drops, _over, requeues, _bytes, waiting = _netem_words(route, index)
    return (packets + waiting + drops) & 0xFFFFFFFF, drops, requeues


def _netem_words(route: nl.Netlink, index: int) -> list[int]:
    """Return the eight words that ``Counters`` packs, of an interface's netem now."""
    # Without NLM_F_ECHO, the kernel answers only to sockets of the multicast group.
    body = TCMSG.pack(0, index, NETEM_HANDLE, NETEM_CLASS, 0)
    data = route.ask(RTM_GETQDISC, body, nl.NLM_F_ECHO)
    found = counter_places(data, 16 + TCMSG.size, len(data), [TCA_STATS2])
    return [struct.unpack_from("=I", data, place)[0] for place in found]
