"""Graph: routers and links from a GraphML, GML or JSON file, and hosts at any of its nodes.

A node of the file is a router, and an edge is a link with a queue in each direction. A link's name
is that of its ends with `-` between, in the order of the file's nodes. The second one between the
same nodes has `-2` at its end. ``forward`` is from the first to the second node.

Edges of a directed graph are one direction of a link each, in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from orchestrator.kinds.fields import (
    MAX_PAIRS,
    Path,
    RateBothWays,
    Slug,
    Strict,
    located,
)
from orchestrator.kinds.files.graph_file import MAX_BYTES, GraphEdge, GraphFile, read_graph
from orchestrator.kinds.files.named_files import checked_sha256, named, named_file
from orchestrator.kinds.files.step_traces import LinkDelayBothWays
from orchestrator.kinds.losses import LossBothWays
from orchestrator.kinds.queues import QueueBothWays
from orchestrator.network import Group, Network
from orchestrator.suggestions import suggest
from orchestrator.units import shown
from topologies.base import Layout, Multihoming
from topologies.edge_values import EdgeDelay, EdgeRate
from topologies.graph_links import EdgeLink, edge_links, node_names, require_connected
from topologies.links import Access, Bottleneck, Links, delays_s, drawn, no_loss, one_bdp

Problem = tuple[Path, str]
_MOST_LISTED = 20

NodeName = Annotated[
    str, BeforeValidator(lambda value: str(value) if type(value) is int else value)
]
"""The name or the id of a node; ids are often numbers."""


class GraphLink(Strict):
    """What differs on one link."""

    name: str = Field(description="name of the link, such as paris-rome")
    rate: RateBothWays | None = Field(default=None, description="bit/s, such as 10mbit")
    delay: LinkDelayBothWays | None = Field(default=None, description="one-way delay, such as 10ms")
    queue: QueueBothWays | None = Field(default=None, description="queue in front of the link")
    loss: LossBothWays | None = Field(
        default=None, description="loss model; losses happen after the queue"
    )


class GraphGroup(Strict):
    """Pairs of hosts: the sources at one node, their sinks at another."""

    name: Slug = Field(description="unique; the hosts are <name>_src<i> and <name>_dst<i>")
    from_: NodeName = Field(alias="from", description="node of the sources: its name or its id")
    to: NodeName = Field(description="node of the sinks: its name or its id")
    hosts: int = Field(default=1, ge=1, le=MAX_PAIRS, description="pairs of a source and a sink")
    access: Access | None = Field(
        default=None, description="the link of each host; the topology's `access` when not given"
    )
    source_access: Access | None = Field(
        default=None, description="the sources' links, where they differ from `access`"
    )
    sink_access: Access | None = Field(
        default=None, description="the sinks' links, where they differ from `access`"
    )


class Graph(Multihoming):
    """Routers and links of a graph file, and groups of hosts at its nodes."""

    kind: Literal["graph"] = Field(description="routers and links of a graph file")
    file: str = Field(
        description="a connected graph in GraphML (.graphml), GML (.gml) or node-link JSON "
        "(.json), relative to the scenario's folder: 8 MB, 500 nodes and 2000 edges at most. XML "
        "with a DTD is refused",
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the file must have; not checked when not given",
    )
    names: str | None = Field(
        default=None,
        description="attribute of the nodes that names them, such as label; their ids when not "
        "given. What is no letter, digit, `_` or `-` becomes `_`, accents go, and what does not "
        "begin with a letter gets an `n` in front",
    )
    rate: EdgeRate = Field(
        description="of the links: 10mbit, or {attribute: LinkSpeedRaw, unit: bit, default: 1gbit}"
    )
    delay: EdgeDelay = Field(
        description="one-way delay of the links: 5ms; {attribute: delay, unit: ms}; or of the "
        "distance, {latitude: Latitude, longitude: Longitude, default: 1ms}"
    )
    queue: QueueBothWays = Field(
        default_factory=one_bdp,
        description="queue in front of each link; drop-tail of 1bdp by default. On a link that no "
        "flow crosses as the run begins, a limit in BDP takes the RTTs of all flows",
    )
    links: list[GraphLink] = Field(
        default_factory=list, description="links that differ from the file"
    )
    routing: Literal["least-delay", "ecmp", "spray"] = Field(
        default="least-delay",
        description="`least-delay`: by the path of least delay, then of fewest links, then of the "
        "link that comes first. `ecmp`: each router chooses among paths of equal delay and number "
        "of links, by a hash of the two hosts, the router and the seed. So all packets from one "
        "host to another take one path, and the way back is chosen by itself. `spray`: each router "
        "chooses so for every packet, at random and with equal chances. So packets overtake each "
        "other, which TCP may take for losses. Links that are chosen from have equal rates",
    )
    access: Access | None = Field(
        default=None,
        description="the link of each host whose group gives none; without rate and delay when "
        "not given",
    )
    groups: list[GraphGroup] = Field(min_length=1, description="hosts at nodes of the graph")

    _read: GraphFile | None = PrivateAttr(default=None)
    _links: tuple[EdgeLink, ...] = PrivateAttr(default=())
    _specs: tuple[Bottleneck, ...] = PrivateAttr(default=())
    _names: dict[str, str] = PrivateAttr(default_factory=dict)
    """The name of each node by its id."""

    @field_validator("file")
    @classmethod
    def _place(cls, file: str, info: ValidationInfo) -> str:
        found = named_file(file, info, MAX_BYTES)
        read_graph(found.place, found.content)
        return found.place

    @field_validator("sha256")
    @classmethod
    def _of_the_file(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        return checked_sha256("file", sha256, info, MAX_BYTES) if "file" in info.data else sha256

    @model_validator(mode="after")
    def _sound(self, info: ValidationInfo) -> Graph:
        found = named_file(self.file, info, MAX_BYTES)
        graph = self._read = read_graph(found.place, found.content)
        key = "file" if self.names is None else "names"
        try:
            self._names = node_names(graph, self.names)
            key = "file"
            self._links = tuple(edge_links(graph, self._names))
            require_connected(self._names, self._links)
        except ValueError as error:
            raise located([((key,), f"{named(found.place)}: {error}")]) from None
        rules = (self._known_links(), self._known_nodes(), self._free_names(), self._few_pairs())
        problems = [problem for rule in rules for problem in rule]
        if not problems:
            self._specs = tuple(self._resolved(graph, problems))
        if not problems and self.routing == "spray":
            problems += self._equal_rates()
        if problems:
            raise located(problems)
        return self

    def layout(self, seed: int) -> Layout:
        """Return the network: the links of the file, then the access links of each group.

        Drawn delays of access links are as in ``Chain.layout``.
        """
        links = Links(seed)
        differing = {link.name: number for number, link in enumerate(self.links)}
        for link, spec in zip(self._links, self._specs, strict=True):
            number = differing.get(link.name)
            where: Path = ("topology",) if number is None else ("topology", "links", number)
            links.add_bottleneck(link.name, self._names[link.a], self._names[link.b], spec, where)
        queues = {name: replace(queue, of_any_flow=True) for name, queue in links.queues.items()}
        groups = tuple(self._attach(links, number, seed) for number in range(len(self.groups)))
        hosts = tuple(host for group in groups for host in (*group.sources, *group.sinks))
        ecmp = self.routing == "ecmp"
        network = Network(
            hosts,
            tuple(self._names.values()),
            tuple(links.links),
            groups,
            tuple(link.name for link in self._links),
            ecmp_seed=seed if ecmp else None,
            spray=self.routing == "spray",
        )
        spreads = (
            spread
            for group in self.groups
            for access in self._sides(group)
            if access.delay is not None
            for spread in (access.delay.forward, access.delay.reverse)
        )
        draws = ecmp or links.drawn or any(spread.drawn for spread in spreads)
        return Layout(network, {**links.queues, **queues}, links.scenario_paths, draws)

    def _resolved(self, graph: GraphFile, problems: list[Problem]) -> Iterator[Bottleneck]:
        """Yield the values of each link; add what is wrong to ``problems``, once for each key."""
        attributes = {node.id: node.attributes for node in graph.nodes}
        differing = {link.name: link for link in self.links}

        def rate_bps(edge: GraphEdge) -> int:
            return self.rate.of(edge.attributes)

        def delay_s(edge: GraphEdge) -> float:
            return self.delay.of(edge.attributes, attributes[edge.a], attributes[edge.b])

        for link in self._links:
            own = differing.get(link.name, GraphLink(name=link.name))
            rate, delay, key = own.rate, own.delay, "rate"
            try:
                if rate is None:
                    rates = (rate_bps(link.forward), rate_bps(link.reverse))
                    rate = RateBothWays.model_construct(forward=rates[0], reverse=rates[1])
                key = "delay"
                if delay is None:
                    delays = (delay_s(link.forward), delay_s(link.reverse))
                    delay = LinkDelayBothWays.model_construct(forward=delays[0], reverse=delays[1])
            except ValueError as error:
                text = f"link {shown(link.name)} of {named(self.file)}: {error}"
                if all(path != (key,) for path, _text in problems):
                    problems.append(((key,), text))
                continue
            yield Bottleneck.model_construct(
                rate=rate,
                capacity=None,
                delay=delay,
                queue=own.queue or self.queue,
                loss=own.loss or no_loss(),
            )

    def _sides(self, group: GraphGroup) -> tuple[Access, Access]:
        """Return the access links of a group's sources and of its sinks."""
        shared = group.access or self.access or Access()
        return group.source_access or shared, group.sink_access or shared

    def _attach(self, links: Links, number: int, seed: int) -> Group:
        """Add the access links of one group: those of the sources, then those of the sinks."""
        group = self.groups[number]
        names: dict[str, tuple[str, ...]] = {}
        nodes = [self._node(node) for node in (group.from_, group.to)]
        keys = ("source_access", "sink_access")
        sides = zip(keys, ("src", "dst"), self._sides(group), nodes, strict=True)
        for side, (key, suffix, access, node) in enumerate(sides):
            given = next((one for one in (key, "access") if getattr(group, one) is not None), None)
            own: Path = ("groups", number) if given is None else ("groups", number, given)
            where: Path = ("topology", *(("access",) if given is None and self.access else own))
            hosts = tuple(f"{group.name}_{suffix}{i}" for i in range(group.hosts))
            for i, host in enumerate(hosts):
                draw = drawn(seed, "delay", number, side * group.hosts + i)
                delay = (0.0, 0.0)
                if access.delay is not None:
                    delay = delays_s(access.delay, i, group.hosts, draw)
                ends = (host, node) if side == 0 else (node, host)
                links.add(host, *ends, access, where, delay)
            names[suffix] = hosts
        return Group(group.name, names["src"], names["dst"])

    def _node(self, text: str) -> str:
        """Return the name of the node with that name or id; KeyError when there is none."""
        return text if text in self._names.values() else self._names[text]

    def _known_links(self) -> Iterator[Problem]:
        names = [link.name for link in self._links]
        turned = {f"{self._names[link.b]}-{self._names[link.a]}": link.name for link in self._links}
        seen: set[str] = set()
        for number, link in enumerate(self.links):
            where = ("links", number, "name")
            if link.name in seen:
                yield where, f"link {shown(link.name)} is given twice"
            elif link.name in turned and link.name not in names:
                yield (
                    where,
                    f"there is no link {shown(link.name)}: it is called {turned[link.name]}",
                )
            elif link.name not in names:
                yield where, _unknown("link", link.name, names)
            seen.add(link.name)

    def _known_nodes(self) -> Iterator[Problem]:
        valid = [*self._names.values(), *self._names]
        for number, group in enumerate(self.groups):
            for key, node in (("from", group.from_), ("to", group.to)):
                if node not in valid:
                    yield ("groups", number, key), self._unknown_node(node)

    def _unknown_node(self, name: str) -> str:
        assert self._read is not None, "set before"
        for node in self._read.nodes:
            for key, value in node.attributes.items():
                if value == name and key != self.names:
                    return (
                        f"there is no node {shown(name)}; it is {shown(key)} of node "
                        f"{shown(self._names[node.id])}: `names: {key}` names nodes so"
                    )
        return _unknown("node", name, list(self._names.values()))

    def _free_names(self) -> Iterator[Problem]:
        taken = {*self._names.values(), *(link.name for link in self._links)}
        for number, group in enumerate(self.groups):
            for suffix in ("src", "dst"):
                hosts = (f"{group.name}_{suffix}{i}" for i in range(group.hosts))
                host = next((host for host in hosts if host in taken), None)
                if host is not None:
                    text = f"its host {host} has the name of a node or link of {named(self.file)}"
                    yield ("groups", number, "name"), text

    def _equal_rates(self) -> Iterator[Problem]:
        """Yield a problem for the first two links of different rates that packets are sprayed over.

        The base RTT would depend on the path.
        """
        network = self.layout(0).network
        ends = {group.sources[0] for group in network.groups}
        ends |= {group.sinks[0] for group in network.groups}
        for switch in network.switches:
            for end in sorted(ends):
                first, *others = network.equal_hops(switch, end)
                for other in others:
                    if other.channel.rate_bps != first.channel.rate_bps:
                        yield (
                            ("routing",),
                            f"packets to {end} are sprayed over {first.name} and {other.name}, "
                            "whose rates differ: give both the same rate, or different delays",
                        )
                        return

    def _few_pairs(self) -> Iterator[Problem]:
        if sum(group.hosts for group in self.groups) > MAX_PAIRS:
            yield ("groups",), f"more than {MAX_PAIRS} pairs of hosts, the most that was run"


def _unknown(what: str, name: str, valid: list[str]) -> str:
    listed = ", ".join(valid[:_MOST_LISTED]) + (", ..." if len(valid) > _MOST_LISTED else "")
    return f"there is no {what} {shown(name)}{suggest(name, valid)}; defined: {listed}"
