"""Requests and responses in turn over one TCP connection."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.kinds.distributions import Durations, Sizes
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._exchanges import exchanges
from orchestrator.kinds.traffic._tcp import Windowed


class RequestResponse(Windowed, TrafficSpec):
    """Requests and responses in turn over one persistent connection: their latency.

    The flow's data are the responses. So its source is the server, and its sink connects and
    requests. Each exchange is a transfer, from the request to the last byte of the response at the
    client. The first one begins when the connection is established.
    """

    kind: Literal["request-response"] = Field(description="latency over one connection")
    request: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("100B"),
        description="size of a request, from sink to source, such as 100B",
    )
    response: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("1kB"),
        description="size of a response, from source to sink, such as 1kB",
    )
    think: Durations | None = Field(
        default=None,
        description="time between a response and the next request, or its distribution; none when "
        "not given",
    )

    def demand(self) -> Demand:
        """Return the demand of one connection without end."""
        return Demand(
            "exchanges",
            parameters=exchanges(self.request, self.response, self.think, number=1),
            window=self.window,
            server="source",
        )
