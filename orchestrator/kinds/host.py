"""How the hosts of a run hand packets to their network cards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    field_validator,
)

from orchestrator import units
from orchestrator.kinds.fields import Path, ShortForm, Strict, Time
from orchestrator.protocol.links.link import COALESCE_MAX_NS
from orchestrator.protocol.units import NS_PER_S, nanoseconds

Offload = Literal["tso", "gro"]
"""tso: TCP hands several segments to the network card at once, which makes frames of them.

gro: the kernel merges frames that it gets at once, before TCP gets them."""


HostQdisc = Literal["none", "pfifo_fast", "fq_codel", "fq"]
"""A queueing discipline of a host; ``none`` is a FIFO that hardly ever fills."""


def _moderation(time_s: float) -> float:
    if nanoseconds(time_s) > COALESCE_MAX_NS:
        raise ValueError(f"may be {COALESCE_MAX_NS // NS_PER_S}s at most")
    return time_s


def _ring(value: object) -> int:
    size = value if type(value) is int else units.parse_limit(value, "ring", ("p",)).packets
    assert size is not None, "frames are its only unit"
    return size


Ring = Annotated[
    int,
    PlainValidator(_ring),
    PlainSerializer(lambda frames: f"{frames}p", when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": f"^{units.NUMBER_PATTERN}p$", "examples": ["512p"]}
    ),
]
"""Frames that a receive ring holds."""


class Coalescing(ShortForm):
    """When a network card interrupts its host for frames that came; a time alone is `time`."""

    short = "time"

    time: Annotated[Time, AfterValidator(_moderation)] = Field(
        description="from the first frame that waits to the interrupt; 0s delivers each at once"
    )
    frames: int | None = Field(
        default=None,
        ge=1,
        le=units.LIMIT_MAX,
        description="so many frames that wait raise it at once; no number does when not given",
    )


@dataclass(frozen=True)
class HostCard:
    """What the network card of one host has; ``places`` has the path of each key that is given."""

    places: Mapping[str, Path]
    offloads: Collection[Offload] = ()
    small_queues: bool = False
    coalesce: Coalescing | None = None
    ring: int | None = None
    qdisc: HostQdisc = "none"

    @property
    def moderates(self) -> bool:
        """Whether frames wait for an interrupt."""
        return self.coalesce is not None and self.coalesce.time > 0


class CardOptions(Strict):
    """The network cards of some hosts; what is not given is as for all hosts."""

    offloads: list[Offload] | None = Field(
        default=None,
        description="what the network card does for the host, in place of what it does for all. "
        "`[]` is nothing",
    )
    small_queues: bool | None = Field(
        default=None, description="as for all hosts, see [HostOptions](#hostoptions)"
    )
    coalesce: Coalescing | None = Field(
        default=None,
        description="moderation of receive interrupts: a frame that came waits in the card's ring "
        "for the next interrupt, and then the host gets all that wait, at once. 0s is none",
    )
    ring: Ring | None = Field(
        default=None,
        description="frames that the receive ring holds; one that finds it full is dropped. "
        "Without it, the ring has no limit. It needs `coalesce`",
    )

    qdisc: HostQdisc | None = Field(
        default=None,
        description="queueing discipline in front of the network card, with the kernel's own "
        "settings. `none` is a FIFO of 100 000 frames. `fq` paces each socket, and needs "
        "`small_queues`",
    )

    @field_validator("offloads")
    @classmethod
    def _each_once(cls, offloads: list[Offload] | None) -> list[Offload] | None:
        for offload in offloads or ():
            if (offloads or []).count(offload) > 1:
                raise ValueError(f"`{offload}` is given twice")
        return offloads


class HostOptions(CardOptions):
    """The network cards of hosts; without any of it, hosts make all frames themselves.

    What is given for a host comes before what is given for its group, and that before what is
    given for all.
    """

    offloads: list[Offload] | None = Field(
        default_factory=list,
        description="what the network card does for the host. `tso`: TCP hands it super-packets "
        "of up to 64 kB, and it cuts them into frames where the host's link begins. `gro`: the "
        "host's kernel merges segments of a flow that come at once into one, of up to 64 kB",
    )
    small_queues: bool | None = Field(
        default=False,
        description="whether what waits in a host's own link counts as in the queue of its network "
        "card, so that TCP small queues limit it",
    )
    groups: dict[str, CardOptions] | None = Field(
        default=None,
        description="by the name of a group: what the network cards of its hosts have instead, "
        "such as `{a: {offloads: [tso]}}`",
    )
    hosts: dict[str, CardOptions] | None = Field(
        default=None,
        description="by the name of a host: what its network card has instead, such as "
        "`{a_dst0: {small_queues: true}}`",
    )

    def of_host(self, host: str, groups: Iterable[str]) -> HostCard:
        """Return what the card of a host has that is in these groups.

        Of several groups of a host, the first one that gives a key counts.
        """
        values: dict[str, Any] = {}
        places: dict[str, Path] = {}
        levels: list[tuple[Path, CardOptions | None]] = [
            (("host", "hosts", host), (self.hosts or {}).get(host)),
            *((("host", "groups", name), (self.groups or {}).get(name)) for name in groups),
            (("host",), self),
        ]
        for path, options in levels:
            for key in CardOptions.model_fields if options is not None else ():
                value = getattr(options, key)
                if value is not None and key not in values:
                    values[key], places[key] = value, (*path, key)
        return HostCard(places, **values)
