"""RTT split: some sources are one link further away than others from a common end.

::

    far_src0 ─access─┐              near_src0 ─access─┐              ┌─access─ far_dst0
                     n1 ════first════════════════════ n2 ═══second═══ n3
    far_src1 ─access─┘                                               └─access─ near_dst0

Source: Capone, Fratta & Martignon, "Bandwidth Estimation Schemes for TCP over Wireless Networks",
Fig. 15: both links 10 Mbit/s and 25 ms, five flows of RTT 100 ms from n1, five of 50 ms from n2.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topologies.chain import Chain, HostGroup, PlacedGroup, RouterLink
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology

_ROUTERS = ("n1", "n2", "n3")


class SplitGroup(HostGroup):
    """Hosts, and where their data enter."""

    enter: Literal["n1", "n2"] = Field(
        description="router of the sources: n1 crosses both links, n2 the second alone"
    )


class RttSplit(RowTopology):
    """Sources at two distances from the same end."""

    kind: Literal["rtt-split"] = Field(description="sources at two distances")
    first: Bottleneck = Field(description="the link from n1 to n2")
    second: Bottleneck = Field(description="the link from n2 to n3, which all share")
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[SplitGroup] = Field(min_length=1, description="hosts by where they enter")

    def _chain(self) -> Chain:
        """Return the row: routers n1 to n3, links ``first`` and ``second``, one a host."""
        stages = (
            RouterLink("first", self.first, ("first",)),
            RouterLink("second", self.second, ("second",)),
        )
        members = [PlacedGroup(group, ((_ROUTERS.index(group.enter), 2),)) for group in self.groups]
        return Chain(_ROUTERS, stages, members, self.access)
