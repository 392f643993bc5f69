"""Changes of a link: rate, delay, impairments, queue, up or down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from orchestrator.kinds.drawn_values import DrawnDelay, DrawnRate, EventDelay, EventRate
from orchestrator.kinds.events import (
    Direction,
    EventSpec,
    LinkState,
    NetworkState,
    RouteRequest,
)
from orchestrator.kinds.fields import Chance
from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.kinds.losses import AnyLoss

_CHANGES = (
    "rate", "delay", "loss", "jitter", "reordering", "duplication", "corruption", "queue", "state",
)  # fmt: skip

Names = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    PlainSerializer(lambda names: names[0] if len(names) == 1 else names, when_used="json"),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}, "minItems": 1}),
    Field(min_length=1),
]


class LinkEvent(EventSpec):
    """The given properties of a link change, all at the same time; the others do not change.

    A new rate applies at once, also to the frame that is being sent. A new delay applies to packets
    that leave the queue from then on, and none of them overtakes another. Loss, jitter, reordering,
    duplication and corruption apply to packets from then on, too; ``0%`` or ``0s`` ends them. A
    link that is down loses packets that leave its queue, and delivers those that were in flight. A
    link that is on hold sends nothing, and goes on where it stopped. Its queue keeps what fits.
    """

    kind: Literal["link"] = Field(default="link", description="a link changes")
    link: Names = Field(description="name of a link, or a list of names")
    direction: Direction = Field(default="both", description="direction of the link")
    rate: EventRate | None = Field(
        default=None,
        description="new rate, of a link that has one; {uniform: [LEAST, MOST]} draws it from the "
        "seed each time, in whole kbit/s, one value for all links of the event",
    )
    delay: EventDelay | None = Field(
        default=None,
        description="new one-way delay; {uniform: [LEAST, MOST]} draws it, in whole microseconds",
    )
    loss: AnyLoss | None = Field(default=None, description="new loss model")
    jitter: Jitter | None = Field(default=None, description="new jitter")
    reordering: Reordering | None = Field(default=None, description="new reordering")
    duplication: Chance | None = Field(
        default=None, description="new probability that a packet arrives twice"
    )
    corruption: Chance | None = Field(
        default=None,
        description="new probability that one bit of a packet is flipped",
    )
    queue: dict[str, Any] | None = Field(
        default=None,
        description="new parameters of the link's queue, such as {limit: 50p}; its kind and other "
        "parameters stay. A limit in time or BDP uses the new rate and the initial delays",
    )
    state: LinkState | None = Field(
        default=None,
        description="whether the link carries packets, loses them (down) or lets them wait in its "
        "queue (hold); routes do not change",
    )
    reroute: bool = Field(
        default=False,
        description="send all flows along the paths of least delay over links that are up",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> LinkEvent:
        if all(getattr(self, key) is None for key in _CHANGES):
            raise ValueError(f"nothing changes: give one or more of {', '.join(_CHANGES)}")
        return self

    @property
    def is_drawn(self) -> bool:
        """Whether its rate or its delay is drawn from the seed."""
        return isinstance(self.rate, DrawnRate) or isinstance(self.delay, DrawnDelay)

    def drawn(self, draw: Callable[[str], float]) -> LinkEvent:
        """Return the event with a rate and a delay that are drawn."""
        values: dict[str, int | float] = {}
        if isinstance(self.rate, DrawnRate):
            values["rate"] = self.rate.drawn(draw("rate"))
        if isinstance(self.delay, DrawnDelay):
            values["delay"] = self.delay.drawn(draw("delay"))
        return self.model_copy(update=values) if values else self

    def apply(self, network: NetworkState) -> None:
        """Change each channel of the links, then the routes."""
        for index, link in enumerate(self.link):
            for channel in network.channels(link, self.direction, ("link", index)):
                if isinstance(self.rate, int):
                    network.set_rate(channel, self.rate)
                if isinstance(self.delay, float):
                    network.set_delay(channel, self.delay)
                self._impair(network, channel)
                if self.queue is not None:
                    network.set_queue(channel, self.queue)
                if self.state is not None:
                    network.set_state(channel, self.state)
        if self.reroute:
            network.reroute(RouteRequest(), ("reroute",))

    def _impair(self, network: NetworkState, channel: str) -> None:
        if self.loss is not None:
            network.set_loss(channel, self.loss)
        if self.jitter is not None:
            network.set_jitter(channel, self.jitter)
        if self.reordering is not None:
            network.set_reordering(channel, self.reordering)
        if self.duplication is not None:
            network.set_duplication(channel, self.duplication)
        if self.corruption is not None:
            network.set_corruption(channel, self.corruption)
