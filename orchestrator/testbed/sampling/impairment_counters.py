"""Counts what each netem does to packets under each setting of its impairments.

An impairment that changes in time can only be judged for each of its settings. So the packets that
came under each setting are counted, and those of them that were dropped or skipped the delay.
"""

from __future__ import annotations

import json

from orchestrator.protocol.links.netem import IMPAIRMENT_PREFIXES
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.network.queues import qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import SettingSpec
    from orchestrator.testbed.bed import ShapedNetwork
    from orchestrator.testbed.kernel.netlink import Netlink

    Total = tuple[dict[str, int | str], int, int, int]


def is_counted(setting: SettingSpec) -> bool:
    """Tell whether packets are counted anew when that setting of a netem changes."""
    return setting["name"].startswith(IMPAIRMENT_PREFIXES)


class ImpairmentCounters:
    """Counts what channels do to packets by their impairments.

    Args:
        bed: the built network; the scheduler keeps its specification up to date.
        route: a netlink socket in the namespace of the wires.
    """

    def __init__(self, bed: ShapedNetwork, route: Netlink) -> None:
        self._bed, self._route = bed, route
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._counts: dict[str, dict[str, list[int]]] = {}

    def count(self, channel: str) -> None:
        """Count what came since the last call for the impairments that the channel still has."""
        link_name, direction = link_and_direction(channel)
        link = self._bed.links[link_name]
        netem = link.spec[direction]["netem"]
        settings = (
            [setting for setting in netem["settings"] if is_counted(setting)] if netem else []
        )
        condition = json.dumps({setting["name"]: setting["value"] for setting in settings})
        _name, index = link.device(CHANNEL_ENDS[direction][1])
        counters = qdisc_counters.decided(self._route, index)
        counts = self._counts.setdefault(channel, {}).setdefault(condition, [0] * len(counters))
        before = self._seen.get(channel, (0,) * len(counters))
        for number, (now, then) in enumerate(zip(counters, before, strict=True)):
            counts[number] += (now - then) & 0xFFFFFFFF  # the kernel's counters have 32 bits
        self._seen[channel] = counters

    def totals(self) -> dict[str, list[Total]]:
        """Count up to now, and return all counts of every channel that was ever counted.

        Returns:
            {channel: [({setting: value}, packets, drops, packets that skipped the delay), ...]}.
        """
        for channel in self._counts:
            self.count(channel)
        return {
            channel: [
                (json.loads(condition), packets, drops, ahead)
                for condition, (packets, drops, ahead) in conditions.items()
            ]
            for channel, conditions in self._counts.items()
        }
