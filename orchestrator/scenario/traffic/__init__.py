"""Traffic sources: a file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from orchestrator.scenario.base import Strict
from orchestrator.scenario.kinds import Kinds

Engine = Literal["builtin", "iperf3"]


@dataclass(frozen=True)
class Demand:
    """What a flow's end point is asked to do; ``size_bytes`` None means until it is stopped."""

    engine: Engine
    size_bytes: int | None


class TrafficSpec(Strict, ABC):
    """What a flow sends."""

    kind: str

    @abstractmethod
    def demand(self) -> Demand:
        """Return what the end point is asked to do."""


TRAFFIC: Kinds[TrafficSpec] = Kinds(
    "traffic",
    __name__,
    TrafficSpec,  # type: ignore[type-abstract]  # only ever compared with
    default="bulk",
)
AnyTraffic = Annotated[TrafficSpec, TRAFFIC]
