"""Events: what a scenario changes while traffic runs, a file each.

A kind is told by the key of its name: ``{at: 30s, link: bottleneck, rate: 5mbit}`` is a ``link``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from orchestrator.kinds.fields import Duration, Path, Strict, Time
from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.kinds.losses import LossSpec
from orchestrator.kinds.registry import Kinds
from orchestrator.units import NS_PER_S

MAX_HAPPENINGS = 100_000
"""Times at which all events of a run happen."""

DirectionName = Literal["forward", "reverse"]
Direction = Literal["both", "forward", "reverse"]


class EventFault(ValueError):
    """An event cannot happen so in this network; ``path`` leads to the cause inside the event."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


class World(Protocol):
    """The network while traffic runs, as events change it; every method may raise EventFault.

    Channels are named as in ``bottleneck:forward``.
    """

    def channels(self, link: str, direction: Direction, path: Path) -> Sequence[str]:
        """Return the names of a link's channels; ``path`` leads to the link in the event."""

    def set_rate(self, channel: str, rate_bps: int) -> None:
        """Give the channel that rate; its queue keeps its limit in packets or bytes."""

    def set_delay(self, channel: str, delay_s: float) -> None:
        """Give packets from now on that delay; those in flight keep theirs, and their lead."""

    def set_loss(self, channel: str, loss: LossSpec) -> None:
        """Put this loss in the place of the channel's."""

    def set_jitter(self, channel: str, jitter: Jitter) -> None:
        """Let delays vary so from now on."""

    def set_reordering(self, channel: str, reordering: Reordering) -> None:
        """Let such packets skip the delay from now on."""

    def set_duplication(self, channel: str, probability: float) -> None:
        """Send packets twice with that probability from now on."""

    def set_corruption(self, channel: str, probability: float) -> None:
        """Turn over a bit of packets with that probability from now on."""

    def set_queue(self, channel: str, values: dict[str, Any]) -> None:
        """Change some parameters of the channel's queue."""

    def set_up(self, channel: str, up: bool) -> None:
        """Let the channel carry packets, or lose all that leave its queue."""

    def reroute(self, wish: RouteWish, path: Path) -> None:
        """Send flows along other paths; ``path`` leads to the wish in the event."""


class RouteWish(Strict):
    """Who takes which path: that of least delay over links that are up, within the given limits."""

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
        description="forward are the flows' data, reverse their acknowledgements",
    )

    @model_validator(mode="after")
    def _one_choice(self) -> RouteWish:
        if self.flows is not None and self.groups is not None:
            raise ValueError("give `flows` or `groups`, not both")
        return self


class EventSpec(Strict, ABC):
    """Something that happens once, or again and again."""

    kind: str
    at: Time = Field(
        description="time since the start of traffic; events of the same time happen in the "
        "file's order"
    )
    every: Duration | None = Field(
        default=None, description="repeat the event after each such time"
    )
    until: Duration | None = Field(
        default=None,
        description="with `every`: the last possible time; the scenario's end when not given",
    )

    def times_ns(self, duration_ns: int) -> range:
        """Return when it happens, in nanoseconds since the start of traffic."""
        at_ns = round(self.at * NS_PER_S)
        if self.every is None:
            return range(at_ns, at_ns + 1)
        last_ns = duration_ns - 1 if self.until is None else round(self.until * NS_PER_S)
        return range(at_ns, min(last_ns, duration_ns - 1) + 1, round(self.every * NS_PER_S))

    @abstractmethod
    def happen(self, world: World) -> None:
        """Change the world; EventFault when this network cannot be changed so."""


def _kind_of(data: dict[Any, Any]) -> str | None:
    return next((kind for kind in EVENTS.found if kind in data), None)


EVENTS: Kinds[EventSpec] = Kinds(
    "event",
    __name__,
    EventSpec,  # type: ignore[type-abstract]  # only ever compared with
    default=_kind_of,
)
AnyEvent = Annotated[EventSpec, EVENTS]

BOTH: dict[Direction, tuple[DirectionName, ...]] = {
    "both": ("forward", "reverse"),
    "forward": ("forward",),
    "reverse": ("reverse",),
}
