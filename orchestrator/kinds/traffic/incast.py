"""Incast: many senders answer one request at the same time, round after round."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.distributions import Durations, Sizes
from orchestrator.kinds.fields import Size
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._exchanges import exchanges, in_rounds
from orchestrator.kinds.traffic._tcp import Windowed


class Incast(Windowed, TrafficSpec):
    """Rounds in which all flows of the entry answer a request at the same time.

    Each flow has one connection, which stays open after the last round. Its sink requests, and its
    source answers with its equal part of the round's bytes. The next round begins when every flow
    has its answer, so a single timeout delays all: A. Phanishayee et al., "Measurement and Analysis
    of TCP Throughput Collapse in Cluster-based Storage Systems", FAST 2008. An answer is a
    transfer, from the request to its last byte.
    """

    kind: Literal["incast"] = Field(description="many senders answer at the same time, in rounds")
    size_bytes: Size = Field(
        alias="bytes", description="size of a round, such as 1MB, from all flows of the entry"
    )
    rounds: int = Field(ge=1, le=100_000, description="number of rounds")
    gap: Durations | None = Field(
        default=None,
        description="time between two rounds, or its distribution; none when not given",
    )
    jitter: Durations | None = Field(
        default=None,
        description="how much later than the round each request is sent, or its distribution; not "
        "at all when not given",
    )
    request: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("100B"), description="size of a request"
    )

    def demand(self) -> Demand:
        """Return the demand; the plan divides the bytes among the entry's flows."""
        # The plan replaces the size of a response.
        parameters = exchanges(self.request, self.request, None, number=1)
        return Demand(
            "exchanges",
            parameters=in_rounds(parameters, self.rounds, self.gap, self.jitter),
            window=self.window,
            server="source",
            round_bytes=self.size_bytes,
        )
