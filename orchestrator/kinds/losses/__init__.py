"""Kinds of loss models of links, one file for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from orchestrator.intervals import Interval, binomial
from orchestrator.kinds.fields import Directional, Strict, located
from orchestrator.kinds.registry import Kinds
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.links.netem import (
    IndependentLoss,
    Loss,
    chance_threshold,
    threshold_chance,
)

MAX_STATES = 200_000
"""Largest number of states of all channels of a run together."""


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

    @property
    def chosen(self) -> ChosenPackets | None:
        """The packets that it loses by their numbers; None of models that lose by chance."""
        return None

    @property
    def loses(self) -> bool:
        """Whether it may lose a packet."""
        return self.mean > 0 or any(self.state_losses) or self.chosen is not None

    @property
    def of_file(self) -> bool:
        """Whether it takes its values from a file."""
        return False

    @property
    def is_drawn(self) -> bool:
        """Whether ``resolved()`` depends on the draw."""
        return False

    def resolved(self, draw: float) -> LossSpec:
        """Return the loss of one direction of a link, which no longer needs a file.

        ``draw``, from 0 to below 1, decides what is random for the direction.
        """
        del draw
        return self

    @abstractmethod
    def impairment(self) -> Loss:
        """Return the loss at the beginning of the run."""

    def drops(self, packets: int, chance: float, hidden: float = 0.0) -> Interval:
        """Return the smallest and the largest plausible number of drops of ``impairment()``.

        Args:
            packets: how many packets netem has lost or let pass.
            chance: probability that there are fewer drops than that, and that there are more.
            hidden: probability that netem does not count a loss, because it had duplicated the
                packet.
        """
        loss = self.impairment()
        assert isinstance(loss, IndependentLoss), "other models compute their own interval"
        probability = threshold_chance(chance_threshold(loss.probability))
        low, _high = binomial(packets, probability * (1 - hidden), chance)
        return low, binomial(packets, probability, chance)[1]

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time, loss probability from then on) for each change of state during the run.

        A model in which the kernel draws for each packet yields nothing. Times are in seconds since
        the start of traffic and increase. Equal seeds yield equal changes.
        """
        del seed, duration_s
        return iter(())

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The loss probabilities that ``changes()`` can yield."""
        return ()

    @property
    def states_per_s(self) -> float:
        """Mean number of states per second that ``changes()`` draws."""
        return 0.0


LOSSES: Kinds[LossSpec] = Kinds(
    "loss",
    __name__,
    LossSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="independent",
    implied={"trace": "trace"},
    short=("independent", "probability"),
)
AnyLoss = Annotated[LossSpec, LOSSES]


class LossBothWays(Directional[AnyLoss]):
    """The loss of each direction."""

    @model_validator(mode="before")
    @classmethod
    def _both(cls, data: Any) -> Any:
        """Require both directions: no loss is a loss of 0%, and not nothing."""
        directions = ("forward", "reverse")
        if isinstance(data, dict) and any(direction in data for direction in directions):
            missing = [
                ((each,), f"`{each}` is missing: write `{each}: 0%` where nothing is lost")
                for each in directions
                if each not in data
            ]
            empty = [
                ((each,), "must be a loss: write `0%` where nothing is lost")
                for each in directions
                if each in data and data[each] is None
            ]
            if missing or empty:
                raise located([*missing, *empty])
        return data
