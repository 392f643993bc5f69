"""Loss models of links: a file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated

from orchestrator.scenario.base import Directional, Strict
from orchestrator.scenario.kinds import Kinds


class LossSpec(Strict, ABC):
    """How a link loses packets in one direction, after its queue."""

    kind: str

    @property
    @abstractmethod
    def mean(self) -> float:
        """Long-run probability that a packet is lost."""


LOSSES: Kinds[LossSpec] = Kinds(
    "loss",
    __name__,
    LossSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="independent",
    short=("independent", "probability"),
)
AnyLoss = Annotated[LossSpec, LOSSES]


class LossBothWays(Directional[AnyLoss]):
    """The loss of each direction."""
