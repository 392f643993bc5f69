"""Independent loss: each packet is lost with the same probability."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.scenario.base import Chance
from orchestrator.scenario.losses import LossSpec


class Independent(LossSpec):
    """Each packet is lost with the same probability, whatever happened to the others."""

    kind: Literal["independent"] = Field(
        default="independent", description="each packet for itself"
    )
    probability: Chance = Field(description="of each packet, such as 0.1% or 1e-8")

    @property
    def mean(self) -> float:
        """The probability."""
        return self.probability
