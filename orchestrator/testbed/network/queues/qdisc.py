"""Queueing disciplines over rtnetlink: set, read back.

A direction of a link is a sch_link (kmods/link_qdisc.c) at the interface where packets leave. Below
it are the queue, and the netem where packets are impaired. The settings of all of them come as
plain data (protocol/specification.py, SettingSpec), so this module knows no kind of queue.
Structures are those of include/uapi/linux/pkt_sched.h. Functions named ``add_*`` queue a request.
``read`` returns what the kernel reports.
"""

from __future__ import annotations

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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from orchestrator.protocol.specification import QueueSpec, SettingSpec

    Value = int | str
    Span = tuple[int, int]

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
TCA_STATS_APP = 4
FIFOS = ("pfifo", "bfifo")
TC_H_ROOT, TC_H_CLSACT = 0xFFFFFFFF, 0xFFFFFFF1
INGRESS, EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS / _EGRESS)

TCMSG = struct.Struct("=BxxxiIII")


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
        # sch_link and sch_fq_pie require the flag; options that begin with a structure must not
        # have it.
        flag = nl.NLA_F_NESTED if nested else 0
        body += nl.attribute(TCA_OPTIONS | flag, options)
    flags = nl.NLM_F_REPLACE if change else nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWQDISC, flags, body, what)


def add_link(route: nl.Netlink, index: int, link: QueueSpec, what: str) -> None:
    """Queue the request for the link that an interface's packets pass: its root qdisc."""
    options, what = pack(link["settings"]), f"{what} {link['kind']}"
    _request(route, index, TC_H_ROOT, LINK_HANDLE, link["kind"], options, what, nested=True)


def change_root(route: nl.Netlink, index: int, kind: str, options: nl.Payload, what: str) -> None:
    """Queue other options, as packed attributes, for an interface's root qdisc."""
    _request(route, index, TC_H_ROOT, LINK_HANDLE, kind, options, what, change=True, nested=True)


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
    ends = (part["offset"] + _size(part) for part in settings if not part["attribute"])
    fixed = max(ends, default=0)
    values: dict[str, Value | None] = {}
    for setting in settings:
        if setting["expected"] is not None:
            path, offset, size = setting["attribute"], setting["offset"], _size(setting)
            attribute = options if not path else nested_attribute(options, path, fixed)
            values[setting["name"]] = (
                None
                if attribute is None
                # Bytes are compared to their end, which a longer list has elsewhere.
                else bytes(attribute[offset:]).hex()
                if setting["format"] == "s"
                else _value(attribute[offset : offset + size], setting["format"], size)
            )
    return values


def _size(setting: SettingSpec) -> int:
    """Return the size of a setting's value in bytes."""
    form = setting["format"]
    return len(str(setting["value"])) // 2 if form == "s" else struct.calcsize(f"={form}")


def _value(data: bytes, form: str, size: int) -> int | None:
    if len(data) < size:
        return None
    return int(struct.unpack(f"={form}", data)[0])


def nested_attribute(data: bytes, path: Iterable[int], start: int) -> bytes | None:
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


def read(route: nl.Netlink) -> dict[tuple[int, int], tuple[str, bytes]]:
    """Return {(interface index, handle): (kind, its TCA_OPTIONS)} of all qdiscs."""
    qdiscs: dict[tuple[int, int], tuple[str, bytes]] = {}
    for _kind, data, start, end in route.dump(RTM_GETQDISC, TCMSG.pack(0, 0, 0, 0, 0)):
        _family, index, handle, _parent, _info = TCMSG.unpack_from(data, start)
        attributes = nl.parse_attributes(data, start + TCMSG.size, end)
        kind = bytes(attributes[TCA_KIND]).rstrip(b"\0").decode()
        qdiscs[(index, handle)] = kind, bytes(attributes.get(TCA_OPTIONS, b""))
    return qdiscs


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


def foreign(route: nl.Netlink, interface_index: int) -> list[str]:
    """Return an interface's qdiscs that are not the kernel's defaults, such as ["htb 1:"].

    The kernel's own qdiscs have the handle 0, and so have those below an mq.
    """
    return [
        f"{kind} {handle >> 16:x}:"
        for index, kind, handle, parent in listed(route)
        if index == interface_index and handle and parent in (TC_H_ROOT, TC_H_CLSACT)
    ]


def root_kind(route: nl.Netlink, interface_index: int) -> str | None:
    """Return the kind of an interface's root qdisc, None when the kernel reports none."""
    kinds = (
        kind
        for index, kind, _handle, parent in listed(route)
        if index == interface_index and parent == TC_H_ROOT
    )
    return next(kinds, None)
