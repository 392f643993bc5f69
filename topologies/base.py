"""What every topology has in common: its parameters, and the graph that they stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from orchestrator.kinds.fields import Path, Strict
from orchestrator.kinds.queues import QueueSpec
from orchestrator.kinds.registry import Kinds
from orchestrator.network import Network


@dataclass(frozen=True)
class QueuePlace:
    """A channel's queue as the scenario asks for it; ``where`` leads to its limit there."""

    spec: QueueSpec
    where: Path


@dataclass(frozen=True)
class Layout:
    """A network whose channels have no queues yet, and the queue of each by the channel's name.

    A limit in time or BDP needs the flows that cross the channel, so the plan sizes the queues.
    Every channel with a rate has a queue here, a channel without a rate has none. ``places`` leads
    from a link's name to its values in the scenario. ``drawn`` tells whether another seed gives
    another network.
    """

    network: Network
    queues: dict[str, QueuePlace]
    places: dict[str, Path] = field(default_factory=dict)
    drawn: bool = False


class Topology(Strict, ABC):
    """A topology's parameters and the graph that they stand for."""

    kind: str

    @classmethod
    def group_names(cls, data: dict[str, Any]) -> list[object]:
        """Return the names of the groups in parameters that need not be valid yet."""
        groups = data.get("groups")
        items = groups if isinstance(groups, list) else []
        return [item.get("name") for item in items if isinstance(item, dict)]

    @abstractmethod
    def layout(self, seed: int) -> Layout:
        """Return the graph; names of hosts, switches and links are unique.

        ``seed`` is the run's, for what is drawn.
        """


TOPOLOGIES: Kinds[Topology] = Kinds(
    "topology",
    "topologies",
    Topology,  # type: ignore[type-abstract]  # only ever compared with
)
