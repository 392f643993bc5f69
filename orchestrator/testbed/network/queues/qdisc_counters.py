"""Reads the counters of queueing disciplines over rtnetlink.

sch_link asks a FIFO for its packets late (kmods/link_transmit.c), so the FIFO's own counters may be
those of before. Where a host's queue has super-packets, these are what it counts itself. The link's
statistics, struct tc_link_xstats, have those of now, and of frames.
"""

from __future__ import annotations

import operator
import struct

from orchestrator.protocol.links.link import XSTATS, XSTATS_FIELDS
from orchestrator.protocol.numbering import (
    LINK_HANDLE,
    NETEM_CLASS,
    NETEM_HANDLE,
    QUEUE_HANDLE,
)
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.network.queues.qdisc import (
    FIFOS,
    RTM_GETQDISC,
    RTM_NEWQDISC,
    TCA_KIND,
    TCA_STATS2,
    TCA_STATS_APP,
    TCMSG,
    nested_attribute,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from orchestrator.protocol.specification import WordSpec

    Span = tuple[int, int]

_OURS = (LINK_HANDLE, QUEUE_HANDLE, NETEM_HANDLE)
_DROPS, _WAITING = 3, 6
"""Places in the eight words of ``NamespaceCounters``: drops, and backlog with packets behind it."""
_XSTATS_OFFSETS = {
    name: struct.calcsize(XSTATS.format[: 1 + place]) for place, name in enumerate(XSTATS_FIELDS)
}


class NamespaceCounters:
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
        spans = {}
        for kind, _flags, _sequence, start, end in nl.messages(data):
            if kind != RTM_NEWQDISC:
                continue
            _family, index, handle, _parent, _info = TCMSG.unpack_from(data, start)
            if (self._only is None or index in self._only) and handle in _OURS:
                names.append((index, handle))
                spans[index, handle] = start + TCMSG.size, end
        for index, handle in names:
            span = spans[index, handle]
            common += _places_now(data, handle, span, spans.get((index, LINK_HANDLE)))
            for word in self._words.get((index, handle), ()):
                offset, _end = _place(data, *span, word["attribute"])
                further.append(offset + word["offset"])
        if self.names and names != self.names:
            raise nl.NetlinkError(0, "the qdiscs of the bed changed during the run")
        self.names = names
        self._length = len(data)
        self._pick = operator.itemgetter(*[offset // 4 for offset in common + further])
        self._pack = struct.Struct(f"<{len(common) + len(further)}I").pack


def _places_now(data: bytes, handle: int, span: Span, link: Span | None) -> list[int]:
    """Return the places of a qdisc's eight words that are those of now.

    A FIFO is asked for packets late, so its own counters may be those of before, and a host's queue
    may have super-packets. The counters of now, of frames, are among the statistics of the link
    above it. A netem's drops are those of the whole line.

    Args:
        data: the kernel's answer.
        handle: the qdisc's.
        span: the attributes of the qdisc.
        link: those of the link that it is or is below; None where there is none.
    """
    offsets = counter_places(data, *span, [TCA_STATS2])
    link_offsets = None if link is None else _link_places(data, link)
    if link_offsets is None:
        return offsets
    if handle == NETEM_HANDLE:
        offsets[_DROPS] = link_offsets["line_drops"]
    elif handle == LINK_HANDLE:
        octets, packets = link_offsets["sent_bytes"], link_offsets["sent_packets"]
        offsets[:_DROPS] = [octets, octets + 4, packets]
    elif _kind(data, span) in (*FIFOS, "fq"):
        octets, packets = link_offsets["queue_bytes"], link_offsets["queue_packets"]
        drops = link_offsets["queue_drops"]
        offsets[: _DROPS + 1] = [octets, octets + 4, packets, drops]
        offsets[_WAITING:] = [link_offsets["queue_backlog"], link_offsets["queue_qlen"]]
    return offsets


def _kind(data: bytes, span: Span) -> str:
    start, end = nl.attribute_spans(data, *span)[TCA_KIND]
    return bytes(data[start:end]).rstrip(b"\0").decode()


def _link_places(data: bytes, span: Span) -> dict[str, int] | None:
    """Return {field of struct tc_link_xstats: its place}, None where the kernel has none."""
    stats = nl.attribute_spans(data, *span).get(TCA_STATS2)
    app = None if stats is None else nl.attribute_spans(data, *stats).get(TCA_STATS_APP)
    if app is None or app[1] - app[0] < XSTATS.size:
        return None
    return {name: app[0] + offset for name, offset in _XSTATS_OFFSETS.items()}


def counter_places(data: bytes, start: int, end: int, path: Iterable[int]) -> list[int]:
    """Return the offsets in bytes of the eight words of ``NamespaceCounters``, below ``path``."""
    stats = nl.attribute_spans(data, *_place(data, start, end, path))
    basic, queue = stats[1][0], stats[3][0]  # TCA_STATS_BASIC, TCA_STATS_QUEUE
    # struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
    drops, overlimits, requeues, backlog, qlen = (queue + 4 * word for word in (2, 4, 3, 1, 0))
    return [basic, basic + 4, basic + 8, drops, overlimits, requeues, backlog, qlen]


def _place(data: bytes, start: int, end: int, path: Iterable[int]) -> Span:
    """Return (start, end) of the attribute's payload at ``path``."""
    for kind in path:
        start, end = nl.attribute_spans(data, start, end)[kind]
    return start, end


class QueueCounters:
    """Samples the counters of the queue below a link, as ``NamespaceCounters`` packs them."""

    def __init__(self, route: nl.Netlink, index: int, handle: int) -> None:
        self._route, self._body = route, TCMSG.pack(0, index, handle, 0, 0)
        self._link = TCMSG.pack(0, index, LINK_HANDLE, 0, 0)
        self._handle = handle
        self._lengths, self._places = (-1, -1), [0]

    def sample(self) -> bytes:
        """Return the packed counters of the qdisc now."""
        link = self._route.ask(RTM_GETQDISC, self._link, nl.NLM_F_ECHO)
        queue = self._route.ask(RTM_GETQDISC, self._body, nl.NLM_F_ECHO)
        data, lengths = link + queue, (len(link), len(queue))
        if lengths != self._lengths:
            self._lengths = lengths
            head, end = 16 + TCMSG.size, len(link)
            self._places = _places_now(data, self._handle, (end + head, len(data)), (head, end))
        return b"".join([data[offset : offset + 4] for offset in self._places])


def link_statistics(route: nl.Netlink, index: int) -> dict[str, int] | None:
    """Return struct tc_link_xstats of an interface's link, None where there is none."""
    data = route.ask(RTM_GETQDISC, TCMSG.pack(0, index, LINK_HANDLE, 0, 0), nl.NLM_F_ECHO)
    xstats = nested_attribute(data, [TCA_STATS2, TCA_STATS_APP], 16 + TCMSG.size) if data else None
    if xstats is None or len(xstats) < XSTATS.size:
        return None
    return dict(zip(XSTATS_FIELDS, XSTATS.unpack_from(xstats), strict=True))


def decided(route: nl.Netlink, index: int) -> tuple[int, int, int]:
    """Return (packets, drops, requeues) of an interface's netem since it was made.

    Packets are those that left it, wait in it, or were dropped. Each number has 32 bits.
    """
    _low, _high, packets, drops, _over, requeues, _bytes, waiting = _netem_words(route, index)
    return (packets + waiting + drops) & 0xFFFFFFFF, drops, requeues


def _netem_words(route: nl.Netlink, index: int) -> list[int]:
    """Return the eight words that ``NamespaceCounters`` packs, of an interface's netem now."""
    # Without NLM_F_ECHO, the kernel answers only to sockets of the multicast group.
    body = TCMSG.pack(0, index, NETEM_HANDLE, NETEM_CLASS, 0)
    data = route.ask(RTM_GETQDISC, body, nl.NLM_F_ECHO)
    offsets = counter_places(data, 16 + TCMSG.size, len(data), [TCA_STATS2])
    return [struct.unpack_from("=I", data, offset)[0] for offset in offsets]
