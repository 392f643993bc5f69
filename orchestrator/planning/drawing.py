"""Draws a network as SVG: routers in columns along the paths, and a box for each group's hosts.

Equal networks give identical bytes. Colours follow the viewer's light or dark setting.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.network import Channel, Link, Network, Policer
from orchestrator.planning.svg_canvas import LINE_HEIGHT, PADDING, Canvas, Point, text_width
from orchestrator.units import format_rate, format_size

_ROUTER_HEIGHT, _GAP, _INDENT, _LEAST_STEP = 30.0, 10.0, 14.0, 160.0
_SIDE = 50.0
"""Distance between a router and the hosts on its left or right."""
_BULGE = 70.0
"""Offset by which a link bends around a router, or around another link of the same routers."""


def draw(network: Network, title: str) -> str:
    """Return the network as an SVG document; bottlenecks are the thick links."""
    places = _placed(network)
    _add_hosts(network, places)
    geometry = _Geometry.of(network, places)
    canvas = Canvas()
    pairs: dict[frozenset[str], int] = {}
    for link in network.links:
        if link.a in places and link.b in places:
            pair = frozenset((link.a, link.b))
            _draw_link(canvas, network, link, geometry.centres, pairs.setdefault(pair, 0))
            pairs[pair] += 1
    for name, place in places.items():
        _draw_hosts(canvas, name, place, geometry)
        canvas.box(geometry.centres[name], (name,), "router")
    return canvas.document(title)


@dataclass(frozen=True)
class _Bundle:
    """The text of a box for the hosts on one side of a group at one router."""

    lines: Sequence[str]

    @property
    def width(self) -> float:
        return text_width(self.lines)

    @property
    def height(self) -> float:
        return len(self.lines) * LINE_HEIGHT + PADDING


@dataclass
class _Place:
    """A router: its column, its row, and the boxes on each side of it."""

    column: int
    row: int
    left: list[_Bundle] = field(default_factory=list)
    right: list[_Bundle] = field(default_factory=list)
    above: list[_Bundle] = field(default_factory=list)
    below: list[_Bundle] = field(default_factory=list)


def _placed(network: Network) -> dict[str, _Place]:
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
    places: dict[str, _Place] = {}
    for node in dict.fromkeys([*itertools.chain(*walks), *nodes]):
        rows[columns[node]] = rows.get(columns[node], -1) + 1
        places[node] = _Place(columns[node], rows[columns[node]])
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


def _add_hosts(network: Network, places: dict[str, _Place]) -> None:
    """Add a box for the hosts of each side of each group at each router."""
    sides = {host: (group.name, "sources") for group in network.groups for host in group.sources}
    for group in network.groups:
        for host in group.sinks:
            sides.setdefault(host, (group.name, "sinks"))
    gathered: dict[tuple[str, str, str], list[tuple[str, Channel, Channel]]] = {}
    for link in network.links:
        for host, router in ((link.a, link.b), (link.b, link.a)):
            if host not in places and router in places:
                group_name, side = sides.get(host, (host, "sources"))
                away, back = link.forward, link.reverse
                if (side == "sinks") == (host == link.a):
                    away, back = back, away
                gathered.setdefault((group_name, side, router), []).append((host, away, back))
    last = max((place.column for place in places.values()), default=0)
    for (_group, side, router), members in gathered.items():
        names = [name for name, _away, _back in members]
        heading = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        count = [] if len(names) == 1 else [f"{len(names)} hosts"]
        caption = _caption([m[1] for m in members], [m[2] for m in members])
        bundle = _Bundle((heading, *count, *caption))
        place = places[router]
        outer = place.column in (0, last)
        at_left = place.column == 0 and (last > 0 or side == "sources")
        if outer:
            (place.left if at_left else place.right).append(bundle)
        else:
            (place.above if side == "sources" else place.below).append(bundle)


def _link_caption(link: Link) -> list[str]:
    own = [] if link.name in (f"{link.a}-{link.b}", f"{link.b}-{link.a}") else [link.name]
    return [*own, *_caption([link.forward], [link.reverse])]


def _caption(forward: Sequence[Channel], reverse: Sequence[Channel]) -> list[str]:
    """Return the caption of equal links; an arrow marks values of one direction."""
    there, back = _summary(forward), _summary(reverse)
    common = [line for line in there if line in back]
    ahead = [f"→ {line}" for line in there if line not in back]
    return [*common, *ahead, *(f"← {line}" for line in back if line not in there)]


def _summary(channels: Sequence[Channel]) -> list[str]:
    delays_ms = [1e3 * channel.delay_s for channel in channels]
    least, most = f"{min(delays_ms):.5g}", f"{max(delays_ms):.5g}"
    delay = f"{least}ms" if least == most else f"{least} to {most}ms"
    rates = sorted({channel.rate_bps for channel in channels if channel.rate_bps is not None})
    ends = dict.fromkeys([*rates[:1], *rates[-1:]])
    rate = " to ".join(format_rate(rate_bps) for rate_bps in ends)
    if any(channel.rate_varies or channel.later_rates for channel in channels):
        rate = f"~{rate}"
    lines = [f"{rate}, {delay}" if rate else delay]
    lines += sorted({_queue_text(channel) for channel in channels if channel.is_bottleneck})
    losses = sorted({text for channel in channels if (text := _loss_text(channel))})
    policers = sorted({_policer_text(each.policer) for each in channels if each.policer})
    return lines + policers + losses


def _queue_text(channel: Channel) -> str:
    queue, rate_bps = channel.queue, channel.rate_bps
    if queue is None or rate_bps is None:
        return "queue"
    if queue.limit_packets is not None:
        limit, size_bytes = f"{queue.limit_packets}p", queue.limit_packets * channel.frame_bytes
    else:
        size_bytes = queue.limit_bytes or 0
        limit = format_size(size_bytes) if size_bytes else ""
    return f"{queue.kind} {limit} ({8e3 * size_bytes / rate_bps:.4g}ms)"


def _policer_text(policer: Policer) -> str:
    return f"policer {format_rate(policer.rate_bps)}, {format_size(policer.burst_bytes)}"


def _loss_text(channel: Channel) -> str:
    if channel.loss is not None and channel.loss.chosen is not None:
        return channel.loss.caption
    if not channel.mean_loss:
        return ""
    caption = "loss" if channel.loss is None else channel.loss.caption
    return f"{caption} {100 * channel.mean_loss:.3g}%"


@dataclass(frozen=True)
class _Geometry:
    """The centre of each router, and the height of a link's caption above it."""

    centres: dict[str, Point]
    lift: float

    @classmethod
    def of(cls, network: Network, places: dict[str, _Place]) -> _Geometry:
        """Compute the sizes of columns and rows from their content."""
        captions = [
            _link_caption(link) for link in network.links if link.a in places and link.b in places
        ]
        router = max((text_width((name,)) for name in places), default=0.0)
        step = max([_LEAST_STEP, *(text_width(caption) + router + _GAP for caption in captions)])
        lift = max((len(caption) for caption in captions), default=0) * LINE_HEIGHT + PADDING
        tops: dict[int, float] = {}
        bottoms: dict[int, float] = {}
        for place in places.values():
            trees = [bundle.width for bundle in (*place.above, *place.below)]
            step = max([step, *(_INDENT + width + 2 * _GAP for width in trees)])
            side = max(_height(place.left), _height(place.right)) / 2
            above = _ROUTER_HEIGHT / 2 + lift + _GAP + _height(place.above)
            below = _ROUTER_HEIGHT / 2 + _GAP + _height(place.below)
            tops[place.row] = max(tops.get(place.row, 0.0), side, above)
            bottoms[place.row] = max(bottoms.get(place.row, 0.0), side, below)
        middles: dict[int, float] = {}
        edge = 0.0
        for row in sorted(tops):
            middles[row] = edge + tops[row]
            edge = middles[row] + bottoms[row] + 2 * _GAP
        at = {name: (place.column * step, middles[place.row]) for name, place in places.items()}
        return cls(at, lift)


def _draw_link(
    canvas: Canvas, network: Network, link: Link, centres: dict[str, Point], parallel: int
) -> None:
    style = "bottleneck" if link.name in network.bottlenecks else "link"
    caption = _link_caption(link)
    (x1, y1), (x2, y2) = centres[link.a], centres[link.b]
    level = y1 == y2
    passed = level and any(y == y1 and min(x1, x2) < x < max(x1, x2) for x, y in centres.values())
    bend = _BULGE * (parallel + passed)
    canvas.curve((x1, y1), ((x1 + x2) / 2, (y1 + y2) / 2 - 2 * bend), (x2, y2), style)
    lift = (len(caption) * LINE_HEIGHT + PADDING) / 2 + 3 if level else 0.0
    canvas.caption(((x1 + x2) / 2, (y1 + y2) / 2 - bend - lift), caption)


def _draw_hosts(canvas: Canvas, name: str, place: _Place, geometry: _Geometry) -> None:
    x, y = geometry.centres[name]
    half = text_width((name,)) / 2
    for bundles, sign in ((place.left, -1), (place.right, 1)):
        top = y - _height(bundles) / 2
        for bundle in bundles:
            middle = (x + sign * (half + _SIDE + bundle.width / 2), top + bundle.height / 2)
            canvas.line((x, y), middle)
            canvas.box(middle, bundle.lines, "hosts")
            top += bundle.height + _GAP
    for bundles, sign, lift in ((place.above, -1, geometry.lift), (place.below, 1, 0.0)):
        free = _ROUTER_HEIGHT / 2 + lift + _GAP
        for bundle in bundles:
            middle = (x + _INDENT + bundle.width / 2, y + sign * (free + bundle.height / 2))
            canvas.line((x, y), (x, middle[1]))
            canvas.line((x, middle[1]), middle)
            canvas.box(middle, bundle.lines, "hosts")
            free += bundle.height + _GAP


def _height(bundles: Sequence[_Bundle]) -> float:
    """Return the height of boxes one above another."""
    return sum(bundle.height + _GAP for bundle in bundles) - (_GAP if bundles else 0.0)
