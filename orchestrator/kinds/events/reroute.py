"""Flows take another path."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.events import EventSpec, NetworkState, RouteRequest


class Reroute(EventSpec):
    """Flows take the path of least delay over links that are up, within the given limits.

    ``{}`` sends all flows along the paths of least delay at that time. Packets on the old path
    still arrive over it. So later packets overtake them when the new path is shorter.
    """

    kind: Literal["reroute"] = Field(default="reroute", description="flows take another path")
    reroute: RouteRequest = Field(description="which flows take which path")

    def apply(self, network: NetworkState) -> None:
        """Change the routes."""
        network.reroute(self.reroute, ("reroute",))
