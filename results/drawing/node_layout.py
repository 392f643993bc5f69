"""Where a drawing puts routers and boxes of hosts: columns along the paths, rows below them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.network import Hop, Network
from results.drawing.canvas import LINE_HEIGHT, PADDING, text_width
from results.drawing.captions import MeasuredDrops, caption

MOST_BOXES = 8
"""More boxes on one side of a router are one box on the page of a run."""

Member = tuple[str, Hop, Hop]
"""A host, and its link away from its router's side of the paths and back."""


@dataclass(frozen=True)
class HostBox:
    """The text of a box for hosts at one router, and their links."""

    lines: Sequence[str]
    links: tuple[str, ...]
    members: Sequence[Member]

    @property
    def width(self) -> float:
        """The width of the box."""
        return text_width(self.lines)

    @property
    def height(self) -> float:
        """The height of the box."""
        return len(self.lines) * LINE_HEIGHT + PADDING


@dataclass
class NodePlace:
    """A router: its column, its row, and the boxes on each side of it."""

    column: int
    row: int
    left: list[HostBox] = field(default_factory=list)
    right: list[HostBox] = field(default_factory=list)
    above: list[HostBox] = field(default_factory=list)
    below: list[HostBox] = field(default_factory=list)


def placed(network: Network) -> dict[str, NodePlace]:
    """Give every router a column and a row; routers on no path go between their neighbours."""
    hosts = set(network.hosts)
    nodes = list(network.switches)  # also hosts that are joined without a router
    nodes += [host for one in network.links if {one.a, one.b} <= hosts for host in (one.a, one.b)]
    walks = list(_walks(network, nodes))
    columns = _columns(walks)
    beside: dict[str, list[str]] = {node: [] for node in nodes}
    for link in network.links:
        if link.a in beside and link.b in beside:
            beside[link.a].append(link.b)
            beside[link.b].append(link.a)
    while missing := [node for node in nodes if node not in columns]:
        ready = [node for node in missing if any(other in columns for other in beside[node])]
        node = (ready or missing)[0]
        near = [columns[other] for other in beside[node] if other in columns]
        columns[node] = sum(near) // len(near) + (len(near) == 1) if near else 0
    rows: dict[int, int] = {}
    places: dict[str, NodePlace] = {}
    for node in dict.fromkeys([*itertools.chain(*walks), *nodes]):
        rows[columns[node]] = rows.get(columns[node], -1) + 1
        places[node] = NodePlace(columns[node], rows[columns[node]])
    return places


def _columns(walks: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the column of each router on a group's path, after all routers before it."""
    after: dict[str, dict[str, None]] = {}
    for walk in walks:
        for node in walk:
            after.setdefault(node, {})
        for one, other in itertools.pairwise(walk):
            if other not in after[one] and not _reaches(after, other, one):
                after[one][other] = None
    before = dict.fromkeys(after, 0)
    for others in after.values():
        for other in others:
            before[other] += 1
    columns = {node: 0 for node, number in before.items() if not number}
    ready = list(columns)
    for node in ready:
        for other in after[node]:
            columns[other] = max(columns.get(other, 0), columns[node] + 1)
            before[other] -= 1
            if not before[other]:
                ready.append(other)
    return columns


def _walks(network: Network, nodes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the routers along the path of each group's pairs, each path once."""
    known = set(nodes)
    seen: set[tuple[str, ...]] = set()
    for group in network.groups:
        for source, sink in zip(group.sources, group.sinks, strict=True):
            walk = [source]
            try:
                for hop in network.path(source, sink):
                    walk.append(hop.link.b if hop.direction == "forward" else hop.link.a)
            except LookupError:
                continue
            inner = tuple(node for node in walk if node in known)
            if inner not in seen:
                seen.add(inner)
                yield inner


def _reaches(after: dict[str, dict[str, None]], start: str, goal: str) -> bool:
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        stack += [other for other in after[node] if other not in seen]
        seen.update(after[node])
    return False


def add_hosts(
    network: Network, places: dict[str, NodePlace], measured: MeasuredDrops | None
) -> None:
    """Add a box for the hosts of each side of each group at each router."""
    last = max((node.column for node in places.values()), default=0)
    for (_group, side, router), members in _gathered(network, places).items():
        bundle = _bundle(members, measured)
        node = places[router]
        outer = node.column in (0, last)
        at_left = node.column == 0 and (last > 0 or side == "sources")
        if outer:
            (node.left if at_left else node.right).append(bundle)
        else:
            (node.above if side == "sources" else node.below).append(bundle)
    if measured is not None:
        for node in places.values():
            for boxes in (node.left, node.right, node.above, node.below):
                if len(boxes) > MOST_BOXES:
                    boxes[:] = [_merged(boxes, measured)]


def _gathered(
    network: Network, places: dict[str, NodePlace]
) -> dict[tuple[str, str, str], list[Member]]:
    """Return the hosts by group, side and router."""
    sides = {host: (group.name, "sources") for group in network.groups for host in group.sources}
    for group in network.groups:
        for host in group.sinks:
            sides.setdefault(host, (group.name, "sinks"))
    gathered: dict[tuple[str, str, str], list[Member]] = {}
    for link in network.links:
        for host, router in ((link.a, link.b), (link.b, link.a)):
            if host not in places and router in places:
                group_name, side = sides.get(host, (host, "sources"))
                away, back = Hop(link, "forward"), Hop(link, "reverse")
                if (side == "sinks") == (host == link.a):
                    away, back = back, away
                gathered.setdefault((group_name, side, router), []).append((host, away, back))
    return gathered


def _bundle(members: Sequence[Member], measured: MeasuredDrops | None) -> HostBox:
    names = [name for name, _away, _back in members]
    heading = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    count = [] if len(names) == 1 else [f"{len(names)} hosts"]
    text = caption([m[1] for m in members], [m[2] for m in members], measured)
    links = tuple(away.link.name for _name, away, _back in members)
    return HostBox((heading, *count, *text), links, members)


def _merged(boxes: Sequence[HostBox], measured: MeasuredDrops) -> HostBox:
    """Return one box for those of many groups."""
    members = [member for box in boxes for member in box.members]
    bundle = _bundle(members, measured)
    return HostBox((f"{len(boxes)} groups", *bundle.lines[1:]), bundle.links, members)
