"""How the hosts of a run hand packets to their network cards."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from orchestrator.kinds.fields import Strict

Offload = Literal["tso"]
"""tso: TCP hands several segments to the network card at once, which makes frames of them."""


class HostOptions(Strict):
    """The network cards of all hosts; without any of it, hosts make all frames themselves."""

    offloads: list[Offload] = Field(
        default_factory=list,
        description="what the network card does for the host. `tso`: TCP hands it super-packets "
        "of up to 64 kB, and it cuts them into frames where the host's link begins",
    )

    small_queues: bool = Field(
        default=False,
        description="whether what waits in a host's own link counts as in the queue of its network "
        "card, so that TCP small queues limit it",
    )

    @field_validator("offloads")
    @classmethod
    def _each_once(cls, offloads: list[Offload]) -> list[Offload]:
        for offload in offloads:
            if offloads.count(offload) > 1:
                raise ValueError(f"`{offload}` is given twice")
        return offloads
