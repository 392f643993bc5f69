"""RPC: a client asks several servers at once, waits for all of them, thinks, and asks again."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.distributions import Durations, Sizes
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._exchanges import exchanges, in_rounds
from orchestrator.kinds.traffic._tcp import Windowed


class Rpc(Windowed, TrafficSpec):
    """Queries that fan out to all flows of the entry, each of which is a server.

    The sink of each flow requests over a connection that stays open, and its source answers. The
    sinks act as one client: it sends its next query when it has all answers and has thought. So a
    query takes as long as its slowest answer: J. Dean, L. A. Barroso, "The Tail at Scale",
    Communications of the ACM 56(2), 2013. An answer is a transfer, from the request to its last
    byte. The first query is sent, after thinking, when all flows are connected.
    """

    kind: Literal["rpc"] = Field(description="queries that fan out to many servers")
    request: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("100B"),
        description="size of the request to each server, or its distribution",
    )
    response: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("1kB"),
        description="size of each server's answer, or its distribution",
    )
    think: Durations | None = Field(
        default=None,
        description="time between the last answer and the next query, or its distribution; none "
        "when not given",
    )
    queries: int | None = Field(
        default=None, ge=1, le=1_000_000, description="number of queries; unlimited when not given"
    )

    def demand(self) -> Demand:
        """Return the demand of one of the servers."""
        parameters = exchanges(self.request, self.response, None, number=1)
        return Demand(
            "exchanges",
            parameters=in_rounds(parameters, self.queries, self.think),
            window=self.window,
            server="source",
        )
