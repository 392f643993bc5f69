"""What each netem did to packets under each setting of its impairments, where those change.

An impairment that changes in time can only be judged under its own conditions: so many packets came
while it was this one, and so many of them were dropped or skipped the delay.
"""

import json

from orchestrator.protocol.numbering import CHANNEL_ENDS
from orchestrator.testbed.network import qdisc

LOSS = "loss_"
"""How the names of the settings of a loss begin."""
_JUDGED = (LOSS, "reorder_", "duplicate_", "corrupt_")


def judged(setting):
    """Tell whether a setting of netem is of what the ledger counts."""
    return setting["name"].startswith(_JUDGED)


class Ledger:
    """Counts what channels did by their impairments.

    Args:
        bed: the built network; its specification is changed along by the timeline.
        route: a netlink socket in the namespace of the wires.
    """

    def __init__(self, bed, route):
        self._bed, self._route = bed, route
        self._seen = {}
        self._counts = {}

    def note(self, channel):
        """Count what came since the last time for the impairments that the channel still has."""
        link_name, _, direction = channel.rpartition(":")
        link = self._bed.links[link_name]
        _name, index = link.device(CHANNEL_ENDS[direction][2])
        found = qdisc.decided(self._route, index)
        settings = link.spec[direction]["netem"]["settings"]
        condition = json.dumps({one["name"]: one["value"] for one in settings if judged(one)})
        counts = self._counts.setdefault(channel, {}).setdefault(condition, [0] * len(found))
        before = self._seen.get(channel, (0,) * len(found))
        for place, (now, then) in enumerate(zip(found, before, strict=True)):
            counts[place] += (now - then) & 0xFFFFFFFF  # the kernel's counters have 32 bits
        self._seen[channel] = found

    def closed(self):
        """Return {channel: [[{setting: value}, packets decided over, drops, packets ahead]]}."""
        for channel in self._counts:
            self.note(channel)
        return {
            channel: [[json.loads(condition), *count] for condition, count in conditions.items()]
            for channel, conditions in self._counts.items()
        }
