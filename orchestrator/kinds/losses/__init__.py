"""Loss models of links, each in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, ClassVar

from orchestrator.intervals import Interval, binomial
from orchestrator.kinds.fields import Directional, Strict
from orchestrator.kinds.registry import Kinds
from orchestrator.protocol.netem import (
    IndependentLoss,
    Loss,
    chance_threshold,
    threshold_chance,
)

MAX_STATES = 200_000
"""The most states that all channels of a run may have together."""


class LossSpec(Strict, ABC):
    """How a link loses packets in one direction, after its queue."""

    netem_resets: ClassVar[bool] = False
    """Whether the model's state is netem's, which resets it when the delay changes."""

    kind: str

    @property
    def caption(self) -> str:
        """What a drawing writes before the mean loss."""
        return f"{self.kind} loss"

    @property
    @abstractmethod
    def mean(self) -> float:
        """Long-run probability that a packet is lost."""

    @abstractmethod
    def impairment(self) -> Loss:
        """Return the loss as the run begins."""

    def drops(self, packets: int, chance: float, hidden: float = 0.0) -> Interval:
        """Return the least and largest plausible number of drops with ``impairment()``.

        But for ``chance`` on each side, when netem has decided over so many packets. ``hidden`` is
        the probability that netem does not count a loss, because it had duplicated the packet.
        """
        loss = self.impairment()
        assert isinstance(loss, IndependentLoss), "other models know their own interval"
        probability = threshold_chance(chance_threshold(loss.probability))
        low, _high = binomial(packets, probability * (1 - hidden), chance)
        return low, binomial(packets, probability, chance)[1]

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time, probability from then on) during the run, by the model's own clock.

        A model whose draws are the kernel's, packet by packet, yields nothing. Times are in
        seconds since the start of traffic and increase; equal seeds yield equal changes.
        """
        del seed, duration_s
        return iter(())

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The probabilities that ``changes()`` yields."""
        return ()

    @property
    def states_per_s(self) -> float:
        """Mean number of states a second that the model enters by its own clock."""
        return 0.0


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
