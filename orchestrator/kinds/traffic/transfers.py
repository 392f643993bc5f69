"""Transfers of given sizes, each over a TCP connection of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.distributions import Durations, Sizes
from orchestrator.kinds.fields import Duration, Frequency, located
from orchestrator.kinds.traffic import Connections, Demand, TcpSegment, TrafficSpec
from orchestrator.kinds.traffic._load import GivenLoad, load_of, sent_wire_bytes
from orchestrator.kinds.traffic._tcp import Window, Windowed
from orchestrator.protocol.engine_parameters import TransfersTraffic
from orchestrator.protocol.specification import QuantitySpec
from orchestrator.protocol.units import nanoseconds


def transfers_demand(
    window: Window | None,
    sizes: list[QuantitySpec],
    gap: Durations | None,
    number: int | None,
    arrivals_per_s: float | None = None,
) -> Demand:
    """Return the demand of the engine ``transfers``."""
    connections: Connections = "sequential" if arrivals_per_s is None else "many"
    parameters: TransfersTraffic = {
        "sizes": sizes,
        "gap": None if gap is None else gap.document(1e9),
        "arrivals_per_s": arrivals_per_s,
        "number": number,
    }
    return Demand("transfers", parameters=parameters, window=window, connections=connections)


class Transfers(Windowed, TrafficSpec):
    """Short transfers: one after another, or from random times that are independent of each other.

    A transfer lasts from the call to connect() to the receipt of the last byte. Without
    ``arrivals`` the next one begins, after the gap, when the sender sees that the receiver has
    everything and has closed. Sizes and times are drawn from Python's random.Random of the flow's
    own seed, each from its own generator. So the sizes do not depend on how long transfers take.
    """

    kind: Literal["transfers"] = Field(description="short transfers, a connection each")
    size: Sizes = Field(description="size of each transfer, such as 10kB, or its distribution")
    gap: Durations | None = Field(
        default=None,
        description="time between the end of one and the beginning of the next, or its "
        "distribution; none when not given",
    )
    arrivals: Frequency | None = Field(
        default=None,
        description="mean rate at which transfers begin by a Poisson process, such as 5/s, "
        "instead of one after another",
    )
    every: Duration | None = Field(
        default=None,
        description="time between the begins of two transfers, such as 5s, whether the one before "
        "has ended or not",
    )
    load: GivenLoad | None = Field(
        default=None,
        description="instead of `arrivals`: mean load of its transfers on the link layer with all "
        "headers. A rate such as 3mbit, 60% of the narrowest link on its path at the beginning of "
        "the run, or {share: 60%, link: bottleneck}. All flows of the entry share it equally",
    )
    number: int | None = Field(
        default=None, ge=1, description="number of transfers; unlimited when not given"
    )

    @model_validator(mode="after")
    def _one_schedule(self) -> Transfers:
        if self.gap is not None and self.arrivals is not None:
            raise located([(("gap",), "transfers that arrive at random have no gap between them")])
        if self.every is not None:
            for key in ("gap", "arrivals"):
                if getattr(self, key) is not None:
                    raise located([((key,), "transfers begin `every` so often, and not by this")])
        if self.load is not None:
            for key in ("gap", "arrivals", "every"):
                if getattr(self, key) is not None:
                    raise located([((key,), "transfers with a `load` arrive at random by it")])
            if self.size.is_endless:
                text = "the load of a heavy tail without end never settles: give `most`"
                raise located([(("size",), text)])
        return self

    def wire_bytes(self, segment: TcpSegment) -> float:
        """Return the mean of the link-layer bytes of a transfer from its sender, without loss."""
        return sent_wire_bytes(self.size, segment)

    def demand(self) -> Demand:
        """Return the demand, with sizes in bytes and times in nanoseconds."""
        demand = transfers_demand(
            self.window, [self.size.document(1)], self.gap, self.number, self.arrivals
        )
        if self.every is not None:
            parameters = {**demand.parameters, "every_ns": nanoseconds(self.every)}
            return replace(demand, parameters=parameters, connections="many")
        if self.load is None:
            return demand
        return replace(demand, load=load_of(self.load, self.wire_bytes), connections="many")
