"""Wired and wireless: a wired bottleneck, and behind it a wireless last hop.

::

    tcp_src0 ───access──┐                            ┌──access── cross_dst0
                        r1 ════wired════ r2 ══wireless══ ap ──access── tcp_dst0
    cross_src0 ─access──┘

All hosts behind ``ap`` share the wireless hop. For one wireless link per host, use a dumbbell with
``sink_access``.

Source: Grieco & Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas
TCP", section 3.4 (Fig. 26): the delay is 125 ms one way, 20 ms of it on the wireless hop. That hop
has 2 Mbit/s and bursty loss in both directions. The wired part is shared with cross and reverse
traffic.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topologies.chain import Chain, HostGroup, PlacedGroup, RouterLink
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology

_ROUTERS = ("r1", "r2", "ap")


class LastHopGroup(HostGroup):
    """Hosts, and whether their sinks are behind the wireless hop."""

    leave: Literal["r2", "ap"] = Field(
        default="ap", description="where the sinks are: ap is behind the wireless hop, r2 before"
    )


class WiredWireless(RowTopology):
    """A wired bottleneck and a wireless last hop."""

    kind: Literal["wired-wireless"] = Field(description="wired, then a wireless last hop")
    wired: Bottleneck = Field(description="the link from r1 to r2, which all share")
    wireless: Bottleneck = Field(description="the link from r2 to ap, with its loss model")
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[LastHopGroup] = Field(min_length=1, description="hosts by where they leave")

    def _chain(self) -> Chain:
        """Return the row: r1, r2 and ap, links ``wired`` and ``wireless``, a link a host."""
        stages = (
            RouterLink("wired", self.wired, ("wired",)),
            RouterLink("wireless", self.wireless, ("wireless",)),
        )
        members = [PlacedGroup(group, ((0, _ROUTERS.index(group.leave)),)) for group in self.groups]
        return Chain(_ROUTERS, stages, members, self.access)
