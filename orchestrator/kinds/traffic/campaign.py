"""A measurement campaign: congestion controls take turns on the same path."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from orchestrator.kinds.congestion_control import Congestion
from orchestrator.kinds.distributions import fixed
from orchestrator.kinds.fields import Duration, Size, Time, located
from orchestrator.kinds.traffic import Demand, TrafficPart, TrafficSpec
from orchestrator.kinds.traffic._tcp import Windowed
from orchestrator.kinds.traffic.onoff import onoff_demand
from orchestrator.protocol.units import nanoseconds


class Campaign(Windowed, TrafficSpec):
    """Greedy TCP connections, one in each turn, whose congestion controls alternate.

    Each control becomes a flow of its own, named after the flow entry and the control. Its turns
    are its transfers. A cycle has a turn of each control in order, and then an idle time. A
    connection that has sent its bytes leaves the rest of its turn idle.
    """

    names_congestion: ClassVar[bool] = True

    kind: Literal["campaign"] = Field(description="congestion controls that take turns")
    controls: Annotated[list[Congestion], Field(min_length=2)] = Field(
        description="the congestion controls in the order of their turns, written like a flow's "
        "`congestion`"
    )
    turn: Duration = Field(description="how long the connection of a turn sends")
    idle: Time = Field(default=0.0, description="time without a connection after each cycle")
    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description="the most that is sent in a turn; limited by the turn's time only when not "
        "given",
    )

    @model_validator(mode="after")
    def _each_once(self) -> Campaign:
        names = [control.name for control in self.controls]
        problems: list[tuple[tuple[str | int, ...], str]] = [
            (("controls", number), f"{name} has its turn already")
            for number, name in enumerate(names)
            if name in names[:number]
        ]
        if problems:
            raise located(problems)
        return self

    def demand(self) -> Demand:
        """Return the demand of one control: on for a turn, and off for the rest of the cycle."""
        off_s = self.turn * (len(self.controls) - 1) + self.idle
        return onoff_demand(
            reconnect=True,
            window=self.window,
            on=fixed(nanoseconds(self.turn)),
            off=fixed(nanoseconds(off_s)),
            period_bytes=self.size_bytes,
        )

    def parts(self) -> list[TrafficPart]:
        """Return a flow for each control, which begins with its first turn."""
        return [
            TrafficPart(
                self.demand(),
                control.name,
                control,
                ("traffic", "controls", number),
                number * self.turn,
            )
            for number, control in enumerate(self.controls)
        ]
