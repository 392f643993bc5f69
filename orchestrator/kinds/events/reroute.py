"""Flows take another path."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.events import EventSpec, NetworkState, RouteRequest


class Reroute(EventSpec):
    """Flows take the path of least delay over links that are up, within what is given.

    ``{}`` sends all flows along the paths of least delay as delays are then. Packets on the old
    path arrive by it, so that some overtake others when the new one is shorter.
    """

    kind: Literal["reroute"] = Field(default="reroute", description="flows take another path")
    reroute: RouteRequest = Field(description="who takes which path")

    def apply(self, network: NetworkState) -> None:
        """Change the routes."""
        network.reroute(self.reroute, ("reroute",))
