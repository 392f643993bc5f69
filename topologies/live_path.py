"""Live path: hosts joined by a real network, which is not emulated and whose values are unknown.

::

    a_src0 ─┐         ┌─ a_dst0
            path ══ ...
    b_src0 ─┘         └─ b_dst0

It needs real hosts: the scenario's section ``lab`` and ``--backend lab``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import MAX_PAIRS, Slug, Strict, located
from orchestrator.network import Channel, Group, Link, Network
from topologies.base import Layout, Topology

_ROUTER = "path"


class LiveGroup(Strict):
    """Pairs of hosts; source i talks to sink i."""

    name: Slug = Field(description="unique; the hosts are <name>_src<i> and <name>_dst<i>")
    hosts: int = Field(default=1, ge=1, le=MAX_PAIRS, description="pairs of a source and a sink")


class LivePath(Topology):
    """Lab hosts and a real network between them; its capacity, delay and loss are not known.

    No link is emulated or sampled, so metrics of links have no value. The base RTT of a flow is the
    one measured before traffic.
    """

    kind: Literal["live-path"] = Field(description="a real network, as it is; lab hosts only")
    groups: list[LiveGroup] = Field(min_length=1, description="hosts that talk to each other")

    @model_validator(mode="after")
    def _few(self) -> LivePath:
        if sum(group.hosts for group in self.groups) > MAX_PAIRS:
            raise located([(("groups",), f"more than {MAX_PAIRS} pairs of hosts")])
        return self

    def layout(self, _seed: int) -> Layout:
        """Return the graph: all hosts at one router, which stands for the network."""
        nothing = Channel(delay_s=0.0)
        links: list[Link] = []
        groups: list[Group] = []
        for group in self.groups:
            sources, sinks = (
                tuple(f"{group.name}_{side}{number}" for number in range(group.hosts))
                for side in ("src", "dst")
            )
            links += [Link(host, host, _ROUTER, nothing, nothing) for host in sources]
            links += [Link(host, _ROUTER, host, nothing, nothing) for host in sinks]
            groups.append(Group(group.name, sources, sinks))
        hosts = tuple(host for group in groups for host in (*group.sources, *group.sinks))
        network = Network(hosts, (_ROUTER,), tuple(links), tuple(groups), (), live=True)
        return Layout(network, {}, {})
