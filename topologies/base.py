"""The base class of all topologies, and the network that they describe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from orchestrator.kinds.fields import Path, Strict
from orchestrator.kinds.queues import QueueSpec
from orchestrator.kinds.registry import Kinds
from orchestrator.network import Network


@dataclass(frozen=True)
class RequestedQueue:
    """A channel's requested queue; ``where`` is the path to its limit in the scenario.

    A limit in BDP takes the RTTs of the flows that cross the channel. With ``of_any_flow`` it takes
    those of all flows where none does.
    """

    spec: QueueSpec
    where: Path
    of_any_flow: bool = False


@dataclass(frozen=True)
class Layout:
    """A network without queues, and the requested queue of each channel by the channel's name.

    The plan sizes the queues, because a limit in time or BDP depends on the flows that cross the
    channel. Every channel with a rate has a queue here, a channel without a rate has none.
    ``scenario_paths`` has the path to each link's values in the scenario, by the link's name.
    ``drawn`` tells whether the network depends on the seed.
    """

    network: Network
    queues: dict[str, RequestedQueue]
    scenario_paths: dict[str, Path] = field(default_factory=dict)
    drawn: bool = False


class Topology(Strict, ABC):
    """A topology's parameters and the graph that they describe."""

    kind: str

    @classmethod
    def group_names(cls, data: dict[str, Any]) -> list[object]:
        """Return the names of the groups in parameters that are not validated yet."""
        groups = data.get("groups")
        items = groups if isinstance(groups, list) else []
        return [item.get("name") for item in items if isinstance(item, dict)]

    @property
    def joined_groups(self) -> Sequence[Sequence[str]]:
        """Names of groups whose hosts are interfaces of the same machines; see ``Multihoming``."""
        return ()

    @abstractmethod
    def layout(self, seed: int) -> Layout:
        """Return the network; names of hosts, switches and links are unique.

        ``seed`` is the run's seed, for parameters that are drawn. ``joined_groups`` are left to
        ``topologies.machines``.
        """


class Multihoming(Topology):
    """A topology in which several groups may share their machines."""

    multihomed: list[Annotated[list[str], Field(min_length=2)]] | None = Field(
        default=None,
        description="lists of groups that share their machines, such as `[[wifi, lte]]`: source 0 "
        "of each group is an interface of one machine, with a link and an address of its own, and "
        "so on with sinks and further pairs",
    )

    @property
    def joined_groups(self) -> Sequence[Sequence[str]]:
        """The lists of ``multihomed``."""
        return self.multihomed or ()


TOPOLOGIES: Kinds[Topology] = Kinds(
    "topology",
    "topologies",
    Topology,  # type: ignore[type-abstract]  # only ever compared with
)
