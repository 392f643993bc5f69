"""Topologies: parameters to a graph of hosts, switches and links; a file each.

A topology is a class derived from Topology with a field ``kind: Literal["name"]`` in a module of
this package. It describes and never acts: the test bed builds what ``layout`` returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from orchestrator.scenario.base import located
from orchestrator.scenario.document import Path
from orchestrator.scenario.model import TopologySpec
from orchestrator.scenario.queues import QueueSpec
from topologies.model import Network

if TYPE_CHECKING:
    from topologies.chain import Chain

__all__ = ["Layout", "QueuePlace", "RowTopology", "Topology"]


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


class Topology(TopologySpec, ABC):
    """A topology's parameters and the graph that they stand for."""

    @abstractmethod
    def layout(self, seed: int) -> Layout:
        """Return the graph; names of hosts, switches and links are unique.

        ``seed`` is the run's, for what is drawn.
        """


class RowTopology(Topology):
    """A topology whose routers stand in a row, see chain.py; it says which row by ``_chain()``.

    It is not in chain.py, for every class of a module that has a ``kind`` is taken for a topology.
    """

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if problems := list(self._span_problems()) or list(self._chain().problems()):
            raise located(problems)
        return self

    def layout(self, seed: int) -> Layout:
        """Return the graph: routers, then the links between them, then one of each host."""
        return self._chain().layout(seed)

    @abstractmethod
    def _chain(self) -> Chain:
        """Return the row with its groups."""

    def _span_problems(self) -> Iterable[tuple[Path, str]]:
        """Return (path in the topology, message) of groups that the row cannot be made with."""
        return ()
