"""Reads queues for the checks of their rates, whatever the scenario samples.

All queues are read at a fixed period. A queue that is backlogged then is read again shortly before
its backlog can have left. So most of the time in which it was not empty is proved with few
readings. The times depend on the specification and on the queues alone.
"""

from __future__ import annotations

import heapq
import struct

from orchestrator.protocol.links.frames import ETHERNET_BYTES
from orchestrator.protocol.links.link import rate_of
from orchestrator.protocol.numbering import CHANNEL_ENDS, QUEUE_HANDLE
from orchestrator.protocol.reports.records import QUEUE_COUNTERS
from orchestrator.protocol.sampling_schedule import MOST_READS_PER_S, QUEUE_READS_PER_S
from orchestrator.testbed.network.queues import qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

    from orchestrator.protocol.specification import ChannelSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.sampling.records import Records

NEVER_NS = 1 << 62
_SECOND_NS = 1_000_000_000
_LEAST_NS = 1_000_000
"""A queue that drains sooner than this is not read again before the next regular reading."""
_ROW_BYTES = 4 * len(QUEUE_COUNTERS)
_BACKLOG = 4 * QUEUE_COUNTERS.index("backlog_bytes")


class QueueReader:
    """Reads queues and writes the readings to ``records``.

    Args:
        bed: the built network.
        names: (interface index, handle) of each qdisc in a sample's row.
        policers: how many policers follow them in the row.
        records: where the readings go.
    """

    def __init__(
        self, bed: Bed, names: Sequence[tuple[int, int]], policers: int, records: Records
    ) -> None:
        self._records = records
        self._period_ns: int = bed.spec["sample"]["readings_ns"]
        traced = {trace["channel"] for trace in bed.spec["traces"]}
        places = {name: queue_number for queue_number, name in enumerate(names)}
        # Of each queue with a rate: its channel, its largest frame, and for a trace its mean rate.
        self._queues: dict[int, tuple[ChannelSpec, int, int | None]] = {}
        for name, link in bed.links.items():
            for direction, (_source, sink) in CHANNEL_ENDS.items():
                channel = link.spec[direction]
                queue_number = places.get((link.device(sink)[1], QUEUE_HANDLE))
                if queue_number is not None and rate_of(channel["link"]):
                    is_traced = f"{name}:{direction}" in traced
                    mean_bps = rate_of(channel["link"]) if is_traced else None
                    frame_bytes = link.spec["mtu_bytes"] + ETHERNET_BYTES
                    self._queues[queue_number] = channel, frame_bytes, mean_bps
        self._counters = {
            queue_number: qdisc_counters.QueueCounters(bed.wires, *names[queue_number])
            for queue_number in self._queues
        }
        self._policers = range(len(names), len(names) + policers)
        self._due: list[tuple[int, int]] = []
        self._reads: dict[int, int] = {}

    @property
    def next_ns(self) -> int:
        """When a queue must be read next, before the next regular reading."""
        return self._due[0][0] if self._due else NEVER_NS

    def take(self, time_ns: int, row: bytes) -> None:
        """Write the regular reading of all queues and policers from a sample's row."""
        if time_ns % _SECOND_NS == 0:
            self._reads.clear()
        self._due.clear()
        for queue_number in self._queues:
            counters = row[_ROW_BYTES * queue_number : _ROW_BYTES * (queue_number + 1)]
            self._note(time_ns, queue_number, counters)
        behind = len(row) - _ROW_BYTES * len(self._policers)
        for number, queue_number in enumerate(self._policers):
            first = behind + _ROW_BYTES * number
            self._records.reading(time_ns, queue_number, row[first : first + _ROW_BYTES])

    def read(self) -> None:
        """Read the queue that is due at ``next_ns``."""
        time_ns, queue_number = heapq.heappop(self._due)
        self._reads[queue_number] = self._reads.get(queue_number, 0) + 1
        self._note(time_ns, queue_number, self._counters[queue_number].sample())

    def _note(self, time_ns: int, queue_number: int, counters: bytes) -> None:
        """Write a reading, and plan the next one before the backlog can have left.

        A quarter of that time is left for frames that an AQM drops, and for a rate that is lower
        than requested. Then, too, the readings must prove that the queue was not empty.
        """
        self._records.reading(time_ns, queue_number, counters)
        (backlog_bytes,) = struct.unpack_from("<I", counters, _BACKLOG)
        channel, frame_bytes, mean_bps = self._queues[queue_number]
        rate_bps = mean_bps or rate_of(channel["link"])
        waiting_bits = 6 * (backlog_bytes - frame_bytes)
        if waiting_bits * _SECOND_NS < _LEAST_NS * rate_bps or not rate_bps:
            return
        due_ns = time_ns + waiting_bits * _SECOND_NS // rate_bps
        spent = self._reads.get(queue_number, 0) >= QUEUE_READS_PER_S
        spent = spent or sum(self._reads.values()) >= MOST_READS_PER_S
        if due_ns < (time_ns // self._period_ns + 1) * self._period_ns and not spent:
            heapq.heappush(self._due, (due_ns, queue_number))
