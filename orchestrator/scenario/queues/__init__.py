"""Queue disciplines: a file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orchestrator.scenario.base import Directional, QueueLimit, Strict
from orchestrator.scenario.kinds import Kinds


class QueueSpec(Strict):
    """A queue in front of a link, in one direction."""

    kind: str
    limit: QueueLimit = Field(
        description="most it holds: packets of any size (100p), link-layer bytes (150kB), "
        "time at the link's rate (20ms), or bandwidth-delay products: 1bdp (of the largest "
        "base RTT that crosses the link) or 1bdp(min) (of the smallest)"
    )


QUEUES = Kinds("queue", __name__, QueueSpec, default="droptail")
AnyQueue = Annotated[QueueSpec, QUEUES]


class QueueBothWays(Directional[AnyQueue]):
    """The queue of each direction."""
