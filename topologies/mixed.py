"""Mixed: several wired links, one of them shared with cross traffic, then a wireless link.

::

    tcp_src0 ─access─ n1 ══wired1══ n2 ══wired2══ n3 ══bottleneck══ n4 ══wireless══ n5 ─ tcp_dst0
                                    └─access─ cross_src0            └─access─ cross_dst0

Source: Capone, Fratta & Martignon, "Bandwidth Estimation Schemes for TCP over Wireless Networks",
section 4.2 (Fig. 18): four TCP connections over all links, 30 UDP sources between n2 and n4 that
share the bottleneck from n3 to n4, independent loss on the wireless link.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from topologies.chain import Chain, HostGroup, PlacedGroup, Problem, RouterLink
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology

_ROUTERS = ("n1", "n2", "n3", "n4", "n5")
Router = Literal["n1", "n2", "n3", "n4", "n5"]


class MixedGroup(HostGroup):
    """Hosts, and where their data enter and leave."""

    enter: Router = Field(default="n1", description="router of the sources")
    leave: Router = Field(default="n5", description="router of the sinks; n5 is the wireless end")


class Mixed(RowTopology):
    """Wired links in a row and a wireless link at their end."""

    kind: Literal["mixed"] = Field(description="several wired links and a wireless one")
    wired: Bottleneck = Field(description="the links from n1 to n2 and from n2 to n3, alike")
    bottleneck: Bottleneck = Field(description="the link from n3 to n4")
    wireless: Bottleneck = Field(description="the link from n4 to n5")
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[MixedGroup] = Field(min_length=1, description="hosts by where they send")

    def _chain(self) -> Chain:
        """Return the row: n1 to n5, links wired1, wired2, bottleneck, wireless, one a host."""
        stages = (
            RouterLink("wired1", self.wired, ("wired",)),
            RouterLink("wired2", self.wired, ("wired",)),
            RouterLink("bottleneck", self.bottleneck, ("bottleneck",)),
            RouterLink("wireless", self.wireless, ("wireless",)),
        )
        members = [
            PlacedGroup(group, ((_ROUTERS.index(group.enter), _ROUTERS.index(group.leave)),))
            for group in self.groups
        ]
        return Chain(_ROUTERS, stages, members, self.access)

    def _span_problems(self) -> Iterator[Problem]:
        for number, group in enumerate(self.groups):
            if group.enter == group.leave:
                yield ("groups", number), "enters and leaves at the same router: it crosses no link"
