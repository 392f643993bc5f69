"""Custom: every host, router and link is written in the scenario.

A link names its two ends, and ``forward`` is from the first to the second. Packets follow the path
of least delay, then of fewest links, then of the link written first. The return path may differ.
Hosts have one link and do not forward.

The links with a queue are the bottlenecks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import MAX_PAIRS, Path, Slug, Strict, located
from orchestrator.kinds.files.step_traces import LinkDelayBothWays
from orchestrator.network import Group, Network
from orchestrator.suggestions import suggest
from orchestrator.units import shown
from topologies.base import Layout, Multihoming
from topologies.links import Links, Plain

Problem = tuple[Path, str]


class CustomLink(Plain[LinkDelayBothWays]):
    """A link between two nodes; with a queue it is a bottleneck."""

    name: Slug | None = Field(
        default=None, description="unique; the two ends joined by `-` when not given"
    )
    between: list[str] = Field(
        min_length=2, max_length=2, description="its two ends; forward is from first to second"
    )

    @property
    def called(self) -> str:
        """The link's name."""
        return self.name if self.name is not None else "-".join(self.between)


class CustomGroup(Strict):
    """Hosts that talk to each other: source i to sink i."""

    name: Slug = Field(description="unique")
    sources: list[str] = Field(min_length=1, description="hosts; one alone stands for all")
    sinks: list[str] = Field(min_length=1, description="hosts; one alone stands for all")

    def group(self) -> Group:
        """Return the group, with a single source or sink repeated for all pairs."""
        number = max(len(self.sources), len(self.sinks))
        sources, sinks = (
            tuple(hosts * number if len(hosts) == 1 else hosts)
            for hosts in (self.sources, self.sinks)
        )
        return Group(self.name, sources, sinks)


class Custom(Multihoming):
    """Hosts, routers and links written out."""

    kind: Literal["custom"] = Field(description="every node and link written out")
    hosts: list[Slug] = Field(min_length=1, max_length=2 * MAX_PAIRS, description="unique names")
    routers: list[Slug] = Field(default_factory=list, description="unique names")
    links: list[CustomLink] = Field(min_length=1, description="between hosts and routers")
    groups: list[CustomGroup] = Field(min_length=1, description="which hosts talk to each other")

    @model_validator(mode="after")
    def _sound(self) -> Custom:
        rules = (self._nodes(), self._ends(), self._hosts(), self._names(), self._groups())
        if problems := [problem for rule in rules for problem in rule]:
            raise located(problems)
        return self

    def layout(self, seed: int) -> Layout:
        """Return the network as written."""
        links = Links(seed)
        for number, link in enumerate(self.links):
            a, b = link.between
            where = ("topology", "links", number)
            links.add(link.called, a, b, link, where, links.delays(link.delay))
        bottlenecks = tuple(link.called for link in self.links if link.queue is not None)
        groups = tuple(group.group() for group in self.groups)
        network = Network(
            tuple(self.hosts), tuple(self.routers), tuple(links.links), groups, bottlenecks
        )
        return Layout(network, links.queues, links.scenario_paths, links.drawn)

    def _nodes(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for key, names in (("hosts", self.hosts), ("routers", self.routers)):
            for number, name in enumerate(names):
                if name in seen:
                    yield (key, number), f"node {shown(name)} is given twice"
                seen.add(name)

    def _ends(self) -> Iterator[Problem]:
        nodes = {*self.hosts, *self.routers}
        for number, link in enumerate(self.links):
            for end, node in enumerate(link.between):
                if node not in nodes:
                    yield ("links", number, "between", end), _unknown("node", node, nodes)
            if link.between[0] == link.between[1]:
                yield ("links", number, "between"), "a link must join two different nodes"

    def _hosts(self) -> Iterator[Problem]:
        degree = Counter(node for link in self.links for node in set(link.between))
        for number, host in enumerate(self.hosts):
            if degree[host] != 1:
                yield (
                    ("hosts", number),
                    f"host {shown(host)} has {degree[host] or 'no'} links: a host has one, and "
                    "only a router joins several",
                )

    def _names(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for number, link in enumerate(self.links):
            if link.called in seen:
                yield (
                    ("links", number, "name"),
                    f"there are two links {shown(link.called)}: give one another `name`",
                )
            seen.add(link.called)

    def _groups(self) -> Iterator[Problem]:
        hosts = set(self.hosts)
        for number, group in enumerate(self.groups):
            for key, names in (("sources", group.sources), ("sinks", group.sinks)):
                for index, name in enumerate(names):
                    if name not in hosts:
                        yield ("groups", number, key, index), _unknown("host", name, hosts)
            lengths = {len(group.sources), len(group.sinks)} - {1}
            if len(lengths) > 1:
                yield (
                    ("groups", number, "sinks"),
                    f"{len(group.sources)} sources and {len(group.sinks)} sinks: "
                    "give equal numbers, or one of either",
                )
                continue
            paired = group.group()
            for source, sink in zip(paired.sources, paired.sinks, strict=True):
                if source == sink:
                    yield ("groups", number), f"host {shown(source)} is its own sink"


def _unknown(what: str, name: str, valid: set[str]) -> str:
    listed = ", ".join(sorted(valid)[:20]) + (", ..." if len(valid) > 20 else "")
    return f"there is no {what} {shown(name)}{suggest(name, valid)}; defined: {listed}"
