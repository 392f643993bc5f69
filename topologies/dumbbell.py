"""Dumbbell: groups of sources on the left, their sinks on the right, one bottleneck between.

::

    a_src0 ──access──┐                       ┌──access── a_dst0
    a_src1 ──access──┤                       ├──access── a_dst1
                     s1 ═════bottleneck═════ s2
    b_src0 ──access──┘                       └──access── b_dst0

``forward`` is left to right on every link. A group has the same access links on either side.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from orchestrator.scenario.base import DelayBothWays, RateBothWays, Slug, Strict
from orchestrator.scenario.document import Path
from orchestrator.scenario.losses import LossBothWays
from orchestrator.scenario.losses.independent import Independent
from orchestrator.scenario.model import MAX_FLOWS
from orchestrator.scenario.queues import QueueBothWays
from orchestrator.scenario.queues.droptail import DropTail
from orchestrator.units import Limit, parse_limit
from topologies import Layout, QueuePlace, Topology
from topologies.model import Channel, DirectionName, Group, Link, Network

LEFT, RIGHT = "s1", "s2"
DIRECTIONS: tuple[DirectionName, DirectionName] = ("forward", "reverse")
ACCESS_LIMIT = Limit(packets=100_000)
"""Never the place of loss: more than the largest window that a flow of a run can have."""


def _no_loss() -> LossBothWays:
    none = Independent(probability=0.0)
    return LossBothWays(forward=none, reverse=none)


def _one_bdp() -> QueueBothWays:
    queue = DropTail(limit=parse_limit("1bdp"))
    return QueueBothWays(forward=queue, reverse=queue)


class Bottleneck(Strict):
    """The link between the switches, whose queues are studied."""

    rate: RateBothWays = Field(description="bit/s, such as 10mbit")
    delay: DelayBothWays = Field(description="one way, such as 10ms")
    queue: QueueBothWays = Field(
        default_factory=_one_bdp, description="in front of the link; drop-tail of 1bdp by default"
    )
    loss: LossBothWays = Field(default_factory=_no_loss, description="after the queue")


class Access(Strict):
    """The link of each host to its switch, on both sides."""

    rate: RateBothWays | None = Field(default=None, description="bit/s; unlimited when not given")
    delay: DelayBothWays = Field(description="one way, such as 20ms")
    queue: QueueBothWays | None = Field(
        default=None, description="in front of the link; never the place of loss when not given"
    )
    loss: LossBothWays = Field(default_factory=_no_loss, description="after the queue")

    @field_validator("queue")
    @classmethod
    def _needs_a_rate(
        cls, queue: QueueBothWays | None, info: ValidationInfo
    ) -> QueueBothWays | None:
        if queue is not None and info.data.get("rate", queue) is None:
            raise ValueError("a queue needs a rate: without one the link never makes packets wait")
        return queue


class HostGroup(Strict):
    """Hosts with the same access links; host i of the left talks to host i of the right."""

    name: Slug = Field(description="unique; the hosts are <name>_src<i> and <name>_dst<i>")
    hosts: int = Field(default=1, ge=1, le=MAX_FLOWS, description="pairs of a source and a sink")
    access: Access = Field(description="the link of each host")


class Dumbbell(Topology):
    """Groups of sources and sinks on either side of one bottleneck."""

    kind: Literal["dumbbell"] = Field(description="one bottleneck")
    bottleneck: Bottleneck = Field(description="the link between the two switches")
    groups: list[HostGroup] = Field(min_length=1, description="hosts by their access links")

    @model_validator(mode="after")
    def _bounded(self) -> Dumbbell:
        if sum(group.hosts for group in self.groups) > MAX_FLOWS:
            raise ValueError(f"more than {MAX_FLOWS} pairs of hosts")
        return self

    def layout(self) -> Layout:
        """Return the graph: switches s1 and s2, the link ``bottleneck``, a link for each host."""
        queues: dict[str, QueuePlace] = {}
        links = [
            _link("bottleneck", LEFT, RIGHT, self.bottleneck, ("topology", "bottleneck"), queues)
        ]
        groups = []
        for index, group in enumerate(self.groups):
            sources = tuple(f"{group.name}_src{i}" for i in range(group.hosts))
            sinks = tuple(f"{group.name}_dst{i}" for i in range(group.hosts))
            where: Path = ("topology", "groups", index, "access")
            for host in sources:
                links.append(_link(host, host, LEFT, group.access, where, queues))
            for host in sinks:
                links.append(_link(host, RIGHT, host, group.access, where, queues))
            groups.append(Group(group.name, sources, sinks))
        hosts = tuple(host for group in groups for host in (*group.sources, *group.sinks))
        network = Network(hosts, (LEFT, RIGHT), tuple(links), tuple(groups), ("bottleneck",))
        return Layout(network, queues)


def _link(
    name: str,
    a: str,
    b: str,
    spec: Bottleneck | Access,
    where: Path,
    queues: dict[str, QueuePlace],
) -> Link:
    """Return the link, and note the queues of its channels."""
    channels: dict[str, Channel] = {}
    for direction in DIRECTIONS:
        rate_bps = getattr(spec.rate, direction) if spec.rate is not None else None
        channels[direction] = Channel(
            delay_s=getattr(spec.delay, direction),
            rate_bps=rate_bps,
            loss=getattr(spec.loss, direction).mean,
            judged=rate_bps is not None and spec.queue is not None,
        )
        if rate_bps is not None:
            queue = (
                getattr(spec.queue, direction)
                if spec.queue is not None
                else DropTail(limit=ACCESS_LIMIT)
            )
            queues[f"{name}:{direction}"] = QueuePlace(queue, (*where, "queue", direction, "limit"))
    return Link(name, a, b, channels["forward"], channels["reverse"])
