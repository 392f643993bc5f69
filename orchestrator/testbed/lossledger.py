"""What each netem carried and dropped under each loss it was set to, where the loss changes.

A loss that changes in time can only be judged under its own conditions: so many packets came while
it was this one, and so many of them were dropped.
"""

import json

from . import qdisc
from .build import ENDS

LOSS = "loss_"
"""How the names of the settings of a loss begin."""


class LossLedger:
    """Counts packets and drops of channels by their loss.

    Args:
        bed: the built network; its specification is changed along by the timeline.
        route: a netlink socket in the namespace of the wires.
    """

    def __init__(self, bed, route):
        self._bed, self._route = bed, route
        self._seen = {}
        self._counts = {}

    def note(self, channel):
        """Count what came since the last time for the loss that the channel still has."""
        link_name, _, direction = channel.rpartition(":")
        link = self._bed.links[link_name]
        _name, index = link.device(ENDS[direction][2])
        packets, drops = qdisc.decided(self._route, index)
        settings = link.spec[direction]["netem"]["settings"]
        loss = json.dumps({one[0]: one[4] for one in settings if one[0].startswith(LOSS)})
        count = self._counts.setdefault(channel, {}).setdefault(loss, [0, 0])
        before = self._seen.get(channel, (0, 0))
        # The kernel's counters have 32 bits.
        count[0] += (packets - before[0]) & 0xFFFFFFFF
        count[1] += (drops - before[1]) & 0xFFFFFFFF
        self._seen[channel] = packets, drops

    def closed(self):
        """Return {channel: [[{setting: value} of the loss, packets decided over, drops]]}."""
        for channel in self._counts:
            self.note(channel)
        return {
            channel: [[json.loads(loss), *count] for loss, count in losses.items()]
            for channel, losses in self._counts.items()
        }
