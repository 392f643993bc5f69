"""How the hosts of a run hand packets to their network cards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from orchestrator.kinds.fields import Path, Strict

Offload = Literal["tso"]
"""tso: TCP hands several segments to the network card at once, which makes frames of them."""


@dataclass(frozen=True)
class HostCard:
    """What the network card of one host has; ``places`` has the path of each key that is given."""

    places: Mapping[str, Path]
    offloads: Collection[Offload] = ()
    small_queues: bool = False


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
        "of up to 64 kB, and it cuts them into frames where the host's link begins",
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
