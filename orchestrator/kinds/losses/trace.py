"""A loss by a recorded trace."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.kinds.files.step_traces import Quantity, StepTrace
from orchestrator.kinds.losses import LossSpec
from orchestrator.kinds.losses.steps import StepLoss
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.protocol.units import NS_PER_S


class TraceLoss(StepTrace, LossSpec):
    """A probability that follows a recorded trace.

    Each packet is lost independently, with the probability of its time.
    """

    quantity: ClassVar[Quantity] = "loss"

    kind: Literal["trace"] = Field(
        default="trace", description="a probability that follows a recorded trace"
    )

    @property
    def of_file(self) -> bool:
        """Whether it takes its values from a file; it does."""
        return True

    def resolved(self, draw: float) -> StepLoss:
        """Return the loss with the steps of the file; ``draw`` decides a random offset."""
        steps = self.steps(draw)
        return StepLoss.model_construct(
            kind="steps",
            steps=[(time_ns / NS_PER_S, loss) for time_ns, loss in steps.steps],
            period=None if steps.period_ns is None else steps.period_ns / NS_PER_S,
            offset=steps.offset_ns / NS_PER_S,
        )

    @property
    def mean(self) -> float:
        """The loss over the trace, of packets spread evenly over time."""
        return self.resolved(0.0).mean

    def impairment(self) -> IndependentLoss:
        """Return the loss as the run begins."""
        return self.resolved(0.0).impairment()
