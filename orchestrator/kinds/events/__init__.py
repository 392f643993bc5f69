"""Kinds of events, which change the network while traffic runs; one file for each.

The key with a kind's name selects the kind: ``{at: 30s, link: bottleneck, rate: 5mbit}`` is a
``link`` event.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from orchestrator.kinds.fields import Duration, Path, Strict, Time
from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.kinds.losses import LossSpec
from orchestrator.kinds.registry import Kinds
from orchestrator.protocol.units import nanoseconds

MAX_EVENT_TIMES = 100_000
"""Largest number of times at which events take effect, of all events of a run together."""

DirectionName = Literal["forward", "reverse"]
Direction = Literal["both", "forward", "reverse"]
LinkState = Literal["up", "down", "hold"]
"""A link carries packets, loses all that leave its queues, or lets them wait in its queues."""


class EventFault(ValueError):
    """An event is not possible in this network; ``path`` leads to the cause inside the event."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


class NetworkState(Protocol):
    """The network while traffic runs, as events change it; every method may raise EventFault.

    Channels are named as in ``bottleneck:forward``.
    """

    def channels(self, link: str, direction: Direction, path: Path) -> Sequence[str]:
        """Return the names of a link's channels; ``path`` leads to the link in the event."""

    def set_rate(self, channel: str, rate_bps: int) -> None:
        """Set the channel's rate; its queue keeps its limit in packets or bytes."""

    def set_delay(self, channel: str, delay_s: float) -> None:
        """Set the delay of packets from now on.

        Packets in flight keep their delay, and no later packet overtakes them.
        """

    def set_loss(self, channel: str, loss: LossSpec) -> None:
        """Replace the channel's loss model."""

    def set_jitter(self, channel: str, jitter: Jitter) -> None:
        """Replace the channel's jitter from now on."""

    def set_reordering(self, channel: str, reordering: Reordering) -> None:
        """Replace the channel's reordering from now on."""

    def set_duplication(self, channel: str, probability: float) -> None:
        """Duplicate packets with that probability from now on."""

    def set_corruption(self, channel: str, probability: float) -> None:
        """Flip a bit of packets with that probability from now on."""

    def set_queue(self, channel: str, values: dict[str, Any]) -> None:
        """Change some parameters of the channel's queue."""

    def set_state(self, channel: str, state: LinkState) -> None:
        """Set whether the channel carries packets, loses them or lets them wait."""

    def reroute(self, request: RouteRequest, path: Path) -> None:
        """Send flows along other paths; ``path`` leads to the request in the event."""


class RouteRequest(Strict):
    """The flows whose path changes, and conditions that the new path has to meet.

    The new path is that of least delay over links that are up and meet the conditions.
    """

    avoid: list[str] = Field(default_factory=list, description="links that the path must not take")
    via: list[str] = Field(
        default_factory=list, description="routers that the path must pass, in this order"
    )
    flows: list[str] | None = Field(default=None, description="names of the flows that change")
    groups: list[str] | None = Field(
        default=None, description="groups whose flows change; all when neither is given"
    )
    direction: Direction = Field(
        default="both",
        description="forward is the path of the flows' data, reverse that of their ACKs",
    )

    @model_validator(mode="after")
    def _one_choice(self) -> RouteRequest:
        if self.flows is not None and self.groups is not None:
            raise ValueError("give `flows` or `groups`, not both")
        return self


class EventSpec(Strict, ABC):
    """A change that happens once, or repeatedly."""

    kind: str
    at: Time = Field(
        description="time since the start of traffic; events at the same time happen in the "
        "order of the file"
    )
    every: Duration | None = Field(
        default=None, description="period with which the event repeats; once when not given"
    )
    until: Duration | None = Field(
        default=None,
        description="with `every`: the latest possible time; the scenario's end when not given",
    )

    def times_ns(self, duration_ns: int) -> range:
        """Return the times of the event, in nanoseconds since the start of traffic."""
        at_ns = nanoseconds(self.at)
        if self.every is None:
            return range(at_ns, at_ns + 1)
        last_ns = duration_ns - 1 if self.until is None else nanoseconds(self.until)
        return range(at_ns, min(last_ns, duration_ns - 1) + 1, nanoseconds(self.every))

    @property
    def is_drawn(self) -> bool:
        """Whether the run's seed decides what the event changes."""
        return False

    def drawn(self, draw: Callable[[str], float]) -> EventSpec:
        """Return the event with what the seed decides for one time.

        ``draw`` returns a number from 0 to below 1 for the name of a value.
        """
        del draw
        return self

    @abstractmethod
    def apply(self, network: NetworkState) -> None:
        """Change the network.

        Raises:
            EventFault: this network does not allow the change.
        """


def _kind_of(data: dict[Any, Any]) -> str | None:
    return next((kind for kind in EVENTS.found if kind in data), None)


EVENTS: Kinds[EventSpec] = Kinds(
    "event",
    __name__,
    EventSpec,  # type: ignore[type-abstract]  # only ever compared with
    default=_kind_of,
    example="{at: 5s, link: bottleneck, rate: 5mbit}",
)
AnyEvent = Annotated[EventSpec, EVENTS]

BOTH: dict[Direction, tuple[DirectionName, ...]] = {
    "both": ("forward", "reverse"),
    "forward": ("forward",),
    "reverse": ("reverse",),
}
