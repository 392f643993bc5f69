"""Reads how long packets waited in queues, as each link counted them; see kmods/link_sojourn.c."""

from __future__ import annotations

from orchestrator.protocol.links.link import (
    INTERVAL_ATTRIBUTE,
    SOJOURN_ATTRIBUTES,
    SOJOURN_BUCKET,
    SOJOURN_BUCKETS_ATTRIBUTE,
)
from orchestrator.protocol.numbering import LINK_HANDLE, QUEUE_CLASS, QUEUE_HANDLE
from orchestrator.protocol.reports.records import SOJOURN_CODE, SOJOURN_FIELDS
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Sequence

    from orchestrator.testbed.bed import Bed

_RTM_GETTCLASS = 42


class SojournTimes:
    """Reads the counters of all links that have a queue.

    Args:
        bed: the built network.
        names: (interface index, handle) of each qdisc in a sample's row.
    """

    def __init__(self, bed: Bed, names: Sequence[tuple[int, int]]) -> None:
        self._route = bed.wires
        self._places = [
            (queue_number, index)
            for queue_number, (index, handle) in enumerate(names)
            if handle == QUEUE_HANDLE
        ]

    def read(self) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield (place of the queue, {code: value}) of each link now; see records.SOJOURN_ROW."""
        begin = nl.attribute(INTERVAL_ATTRIBUTE, b"\1")
        for _queue_number, index in self._places:
            qdisc.change_root(self._route, index, "link", begin, "interval of sojourn times")
        self._route.flush()
        for queue_number, index in self._places:
            values = self._counted(index)
            statistics = qdisc_counters.link_statistics(self._route, index)
            assert statistics is not None, "or the link would have no sojourn times"
            lost = statistics["losses_lost"] + statistics["losses_earlier_lost"]
            values[SOJOURN_CODE + SOJOURN_FIELDS.index("lost_packets")] = lost
            yield queue_number, values

    def _counted(self, index: int) -> dict[int, int]:
        """Return what the link at an interface has counted, by the codes of SOJOURN_ROW."""
        body = qdisc.TCMSG.pack(0, index, 0, LINK_HANDLE, 0)
        for _kind, data, start, end in self._route.dump(_RTM_GETTCLASS, body):
            _family, _index, handle, _parent, _info = qdisc.TCMSG.unpack_from(data, start)
            if handle != QUEUE_CLASS:
                continue
            stats = nl.parse_attributes(data, start + qdisc.TCMSG.size, end)[qdisc.TCA_STATS2]
            counted = nl.parse_attributes(nl.parse_attributes(stats)[qdisc.TCA_STATS_APP])
            values = {
                SOJOURN_CODE + SOJOURN_FIELDS.index(name): int.from_bytes(counted[kind], "little")
                for name, kind in SOJOURN_ATTRIBUTES.items()
            }
            values.update(SOJOURN_BUCKET.iter_unpack(counted[SOJOURN_BUCKETS_ATTRIBUTE]))
            return values
        raise nl.NetlinkError(0, f"interface {index} has no link that counts sojourn times")
