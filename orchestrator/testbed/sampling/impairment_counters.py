"""Counts what each netem does to packets under each setting of its impairments.

An impairment that changes in time can only be judged for each of its settings. So the packets that
came under each setting are counted, and those of them that were dropped or skipped the delay.
"""

from __future__ import annotations

import json

from orchestrator.protocol.netem import IMPAIRMENT_PREFIXES
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.network import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable

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
        lost: returns how many packets a channel has lost by their numbers. The kernel counts them
            as drops of the netem, which never had them.
    """

    def __init__(self, bed: ShapedNetwork, route: Netlink, lost: Callable[[str], int]) -> None:
        self._bed, self._route, self._lost = bed, route, lost
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._counts: dict[str, dict[str, list[int]]] = {}

    def count(self, channel: str) -> None:
        """Count what came since the last call for the impairments that the channel still has."""
        link_name, direction = link_and_direction(channel)
        link = self._bed.links[link_name]
        netem = link.spec[direction]["netem"]
        settings = [one for one in netem["settings"] if is_counted(one)] if netem else []
        condition = json.dumps({one["name"]: one["value"] for one in settings})
        _name, index = link.device(CHANNEL_ENDS[direction][1])
        found = self._decided(channel, index)
        counts = self._counts.setdefault(channel, {}).setdefault(condition, [0] * len(found))
        before = self._seen.get(channel, (0,) * len(found))
        for place, (now, then) in enumerate(zip(found, before, strict=True)):
            counts[place] += (now - then) & 0xFFFFFFFF  # the kernel's counters have 32 bits
        self._seen[channel] = found

    def _decided(self, channel: str, index: int) -> tuple[int, int, int]:
        """Return what the netem has decided; see qdisc.decided.

        On a real machine packets move between two readings.
        """
        while True:
            lost = self._lost(channel)
            packets, drops, ahead = qdisc.decided(self._route, index)
            if self._lost(channel) == lost:
                return (packets - lost) & 0xFFFFFFFF, (drops - lost) & 0xFFFFFFFF, ahead

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
