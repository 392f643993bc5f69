"""Dumbbell: groups of sources on the left, their sinks on the right, one bottleneck between.

::

    a_src0 ──access──┐                       ┌──access── a_dst0
    a_src1 ──access──┤                       ├──access── a_dst1
                     s1 ═════bottleneck═════ s2
    b_src0 ──access──┘                       └──access── b_dst0

``forward`` is left to right on every link.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topologies.chain import Chain, HostGroup, PlacedGroup, RouterLink
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology


class Dumbbell(RowTopology):
    """Groups of sources and sinks on either side of one bottleneck."""

    kind: Literal["dumbbell"] = Field(description="one bottleneck")
    bottleneck: Bottleneck = Field(description="the link between the two switches")
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[HostGroup] = Field(min_length=1, description="hosts by their access links")

    def _chain(self) -> Chain:
        """Return the row: switches s1 and s2, the link ``bottleneck``, a link for each host."""
        stage = RouterLink("bottleneck", self.bottleneck, ("bottleneck",))
        members = [PlacedGroup(group, ((0, 1),)) for group in self.groups]
        return Chain(("s1", "s2"), (stage,), members, self.access)
