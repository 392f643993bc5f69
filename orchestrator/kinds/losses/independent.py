"""Independent loss: each packet is lost with the same probability."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.fields import Chance
from orchestrator.kinds.losses import LossSpec
from orchestrator.protocol.links.netem import IndependentLoss


class Independent(LossSpec):
    """Each packet is lost with the same probability, whatever happened to the others.

    netem counts in steps of 2^-32 (1e-8 is 43 of them). The smallest possible loss is two steps.
    """

    kind: Literal["independent"] = Field(
        default="independent", description="each packet with the same probability"
    )
    probability: Chance = Field(
        description="loss of each packet, such as 0.1% or 1e-8, in steps of 2^-32; at least "
        "4.7e-10, or 0"
    )

    @property
    def caption(self) -> str:
        """The word alone, because loss without another word is independent."""
        return "loss"

    @property
    def mean(self) -> float:
        """The probability."""
        return self.probability

    def impairment(self) -> IndependentLoss:
        """Return the loss."""
        return IndependentLoss(self.probability)
