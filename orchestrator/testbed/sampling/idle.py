"""Waits until no packet is on its way over any link, by the backlogs of all links.

The backlog of a link (kmods/link_qdisc.c) has the packets that wait, are transmitted or are on
their way. Switches take no time. So a network whose links have no backlog is idle.
"""

from __future__ import annotations

import struct

from orchestrator.protocol.numbering import CHANNEL_ENDS, LINK_HANDLE
from orchestrator.protocol.reports.records import QUEUE_COUNTERS
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network.queues import qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable

    from orchestrator.testbed.bed import ShapedNetwork

_FIRST_WAIT_NS, _LONGEST_WAIT_NS = 20_000_000, 1_000_000_000
_MOST_S, _MOST_REAL_S = 600, 30
"""The longest time until the network is idle. In a guest nobody has to wait for it."""
_BACKLOG = QUEUE_COUNTERS.index("backlog_packets")


def wait_until_idle(bed: ShapedNetwork) -> bool:
    """Return True as soon as the network is idle, or False when it does not become idle.

    Links that follow a trace do not count: nothing leaves them before the trace and after it.
    """
    # Each time anew, because queues that are made anew may change places in the kernel's answers.
    counters = qdisc_counters.NamespaceCounters(bed.wires, {})
    links = _links(bed)
    places = [index for index, name in enumerate(counters.names) if name in links]
    timer = system.Timer()
    now_ns = system.monotonic_ns()
    most_s = _MOST_REAL_S if bed.spec.get("real_time", False) else _MOST_S
    end_ns, wait_ns = now_ns + most_s * 1_000_000_000, _FIRST_WAIT_NS
    while _waiting(counters.sample(), places):
        if now_ns >= end_ns:
            return False
        now_ns += wait_ns
        timer.sleep_until(now_ns)
        wait_ns = min(2 * wait_ns, _LONGEST_WAIT_NS)
    return True


def _waiting(counters: bytes, places: Iterable[int]) -> bool:
    """Tell whether a qdisc at one of the places has a backlog."""
    words = [word for (word,) in struct.iter_unpack("<I", counters)]
    return any(words[index * len(QUEUE_COUNTERS) + _BACKLOG] for index in places)


def _links(bed: ShapedNetwork) -> set[tuple[int, int]]:
    """Return (interface index, handle) of the link of each channel that follows no trace."""
    traced = {trace["channel"] for trace in bed.spec["traces"]}
    return {
        (link.device(sink)[1], LINK_HANDLE)
        for name, link in bed.links.items()
        for direction, (_source, sink) in CHANNEL_ENDS.items()
        if f"{name}:{direction}" not in traced
    }
