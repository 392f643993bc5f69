"""Makes the network idle after traffic, so that its base RTTs can be measured again.

All switches drop TCP and UDP from then on. Sockets stay open, and programs notice nothing. What is
on its way ends at the next switch, and senders stall. A retransmission may still cross the link to
the first switch. So of several echoes the shortest counts.
"""

from __future__ import annotations

import struct

from orchestrator.protocol.numbering import CHANNEL_ENDS, QUEUE_HANDLE
from orchestrator.protocol.records import QUEUE_COUNTERS
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import openflow, ovs, qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.network.build import Bed

_FIRST_WAIT_NS, _LONGEST_WAIT_NS = 20_000_000, 1_000_000_000
_MOST_S, _MOST_REAL_S = 600, 30
"""The longest time until the queues are empty. In a guest nobody has to wait for it."""
_BACKLOG = QUEUE_COUNTERS.index("backlog_packets")


def stop_and_drain(bed: Bed, settle_ns: int) -> bool:
    """Let all switches drop TCP and UDP, and wait; tell whether all queues ran empty.

    ``settle_ns`` is the longest RTT. Until then ACKs arrive that are on their way behind the last
    switch, and senders answer them.

    Queues of links that follow a trace do not count. Nothing leaves them after the trace.
    """
    connections = [
        openflow.Connection(ovs.control_socket(switch["device"])) for switch in bed.spec["switches"]
    ]
    for connection in connections:
        connection.send(openflow.drop_rules())
    for connection in connections:
        connection.wait()
        connection.close()
    counters = qdisc.Counters(bed.wires, {})
    queues = _queues(bed)
    places = [place for place, name in enumerate(counters.names) if name in queues]
    timer = system.Timer()
    now_ns = system.monotonic_ns() + settle_ns
    most_s = _MOST_REAL_S if bed.spec.get("real_time", False) else _MOST_S
    end_ns, wait_ns = now_ns + most_s * 1_000_000_000, _FIRST_WAIT_NS
    while now_ns < end_ns:
        now_ns += wait_ns
        timer.sleep_until(now_ns)
        words = [word for (word,) in struct.iter_unpack("<I", counters.sample())]
        if not any(words[place * len(QUEUE_COUNTERS) + _BACKLOG] for place in places):
            return True
        wait_ns = min(2 * wait_ns, _LONGEST_WAIT_NS)
    return False


def _queues(bed: Bed) -> set[tuple[int, int]]:
    """Return (interface index, handle) of the queue of each channel that follows no trace."""
    traced = {trace["channel"] for trace in bed.spec["traces"]}
    return {
        (link.device(sink)[1], QUEUE_HANDLE)
        for name, link in bed.links.items()
        for direction, (_source, sink) in CHANNEL_ENDS.items()
        if f"{name}:{direction}" not in traced
    }
