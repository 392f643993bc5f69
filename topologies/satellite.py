"""Satellite: a dumbbell whose bottleneck goes over a satellite.

::

    a_src0 ──access──┐                                ┌──access── a_dst0
                     ground1 ═════satellite═════ ground2
    b_src0 ──access──┘                                └──access── b_dst0

A geostationary satellite (35 786 km) takes 275 ms one way, as in Grieco & Mascolo, "Performance
Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP", section 3.4 (Fig. 31); from the
ground station below it, it would be 239 ms (RFC 2488 section 2). A satellite of medium orbit
(14 000 km) takes 110 ms (ITU-T G.114 (05/2003), table A.1). A ``delay`` of the link overrides it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.files.step_traces import LinkDelayBothWays
from topologies.chain import Chain, HostGroup, PlacedGroup, RouterLink
from topologies.links import Access, Bottleneck, QueuedLink
from topologies.rows import RowTopology

ONE_WAY = {"geo": "275ms", "meo": "110ms"}


class SatelliteLink(QueuedLink[LinkDelayBothWays | None]):
    """The way from one ground station over the satellite to the other."""

    orbit: Literal["geo", "meo"] = Field(
        default="geo", description="geo is 275ms one way, meo 110ms"
    )
    delay: LinkDelayBothWays | None = Field(
        default=None,
        description="one-way delay from station to station; that of the orbit when not given",
    )

    def bottleneck(self) -> Bottleneck:
        """Return the link with its delay."""
        delay = self.delay or LinkDelayBothWays.model_validate(ONE_WAY[self.orbit])
        values = {name: getattr(self, name) for name in Bottleneck.model_fields}
        return Bottleneck.model_construct(**{**values, "delay": delay})


class Satellite(RowTopology):
    """Groups of sources and sinks on either side of a satellite."""

    kind: Literal["satellite"] = Field(description="a bottleneck over a satellite")
    satellite: SatelliteLink = Field(description="the link between the two ground stations")
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[HostGroup] = Field(min_length=1, description="hosts by their access links")

    def _chain(self) -> Chain:
        """Return the row: ground1 and ground2, the link ``satellite``, a link for each host."""
        stage = RouterLink("satellite", self.satellite.bottleneck(), ("satellite",))
        members = [PlacedGroup(group, ((0, 1),)) for group in self.groups]
        return Chain(("ground1", "ground2"), (stage,), members, self.access)
