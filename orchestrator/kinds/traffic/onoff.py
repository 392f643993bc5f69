"""Greedy TCP that is on and off in turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from orchestrator.kinds.distributions import Durations
from orchestrator.kinds.fields import Time, located
from orchestrator.kinds.traffic import Connections, Demand, TrafficSpec
from orchestrator.kinds.traffic._tcp import Window, Windowed
from orchestrator.protocol.engine_parameters import OnOffTraffic
from orchestrator.protocol.specification import QuantitySpec
from orchestrator.protocol.units import nanoseconds
from orchestrator.units import format_time


def _ordered(interval: list[float]) -> list[float]:
    if interval[0] >= interval[1]:
        raise ValueError("an interval must begin before it ends")
    return interval


Interval = Annotated[list[Time], Field(min_length=2, max_length=2), AfterValidator(_ordered)]


def onoff_demand(
    *,
    reconnect: bool,
    window: Window | None,
    on: QuantitySpec | None = None,
    off: QuantitySpec | None = None,
    intervals: list[list[int]] | None = None,
    period_bytes: int | None = None,
) -> Demand:
    """Return the demand of the engine ``onoff``, with times in nanoseconds."""
    connections: Connections = "sequential" if reconnect else "one"
    parameters: OnOffTraffic = {
        "on": on,
        "off": off,
        "intervals": intervals,
        "reconnect": reconnect,
        "period_bytes": period_bytes,
    }
    return Demand(
        "onoff",
        parameters=parameters,
        window=window,
        path_rate=True,
        connections=connections,
    )


class OnOff(Windowed, TrafficSpec):
    """A TCP sender that always has data while it is on, and none while it is off.

    When it goes off, the kernel still sends the data that it has. Of these, up to 12 segments have
    not been sent before, or what the narrowest link sends in 3 ms if that is more. By default it
    keeps its one connection, as ns-2's FTP does; Linux then restarts from the initial window. With
    ``reconnect`` it connects again each time. Random lengths are drawn from Python's random.Random
    of the flow's own seed. So they do not depend on the network.
    """

    kind: Literal["onoff"] = Field(description="TCP that is on and off in turn")
    on: Durations | None = Field(
        default=None, description="how long it sends: a time or a distribution; it begins on"
    )
    off: Durations | None = Field(
        default=None, description="how long it is silent: a time, or a distribution"
    )
    intervals: Annotated[list[Interval], Field(min_length=1)] | None = Field(
        default=None,
        description="instead of `on` and `off`: the intervals when it is on, since the flow's "
        "start, such as [[250s, 500s], [750s, 1000s]]",
    )
    reconnect: bool = Field(
        default=False,
        description="open a new connection each time it goes on; each is a transfer, from the "
        "call to connect() to the last byte at the receiver",
    )

    @model_validator(mode="after")
    def _one_schedule(self) -> OnOff:
        problems: list[tuple[tuple[str | int, ...], str]] = []
        if self.intervals is None:
            problems += [
                ((key,), f"`{key}` is missing; or give `intervals`")
                for key in ("on", "off")
                if getattr(self, key) is None
            ]
        else:
            problems += [
                ((key,), "either `on` and `off`, or `intervals`")
                for key in ("on", "off")
                if getattr(self, key) is not None
            ]
            for number in range(1, len(self.intervals)):
                end, begin = self.intervals[number - 1][1], self.intervals[number][0]
                if begin <= end:
                    text = f"must begin after the end of the one before, at {format_time(end)}"
                    problems.append((("intervals", number), text))
        if problems:
            raise located(problems)
        return self

    def demand(self) -> Demand:
        """Return the demand with all times in nanoseconds."""
        if self.intervals is not None:
            whole = [[nanoseconds(time_s) for time_s in interval] for interval in self.intervals]
            return onoff_demand(reconnect=self.reconnect, window=self.window, intervals=whole)
        assert self.on is not None, "or there would be intervals"
        assert self.off is not None, "or there would be intervals"
        return onoff_demand(
            reconnect=self.reconnect,
            window=self.window,
            on=self.on.document(1e9),
            off=self.off.document(1e9),
        )
