"""A network as SVG: routers in columns by the order of the paths, hosts gathered into boxes.

The same network gives the same bytes. Colours follow the viewer's light or dark setting.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.network import Channel, Link, Network, Policer
from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.units import format_rate, format_size

_CHAR, _LINE, _PAD, _MARGIN = 6.7, 15.0, 8.0, 20.0
_ROUTER_HEIGHT, _GAP, _INDENT, _LEAST_STEP = 30.0, 10.0, 14.0, 160.0
_SIDE = 50.0
"""Between a router and the hosts on its left or right."""
_BULGE = 70.0
"""How far a link bends that passes by a router, or beside another link."""

_STYLE = """
svg { --ink: #1f2328; --paper: #ffffff; --box: #f6f8fa; --line: #818b98; --hot: #bc4c00;
  font: 11px ui-monospace, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #f0f6fc; --paper: #0d1117; --box: #1c2129; --line: #6e7681; --hot: #f0883e; } }
text { fill: var(--ink); }
.title { font-size: 14px; font-weight: bold; }
.paper { fill: var(--paper); }
.router { fill: var(--box); stroke: var(--ink); stroke-width: 1.5; }
.hosts { fill: var(--box); stroke: var(--line); }
.link { fill: none; stroke: var(--line); stroke-width: 1.5; }
.bottleneck { fill: none; stroke: var(--hot); stroke-width: 3; }
"""

Point = tuple[float, float]


def draw(network: Network, title: str) -> str:
    """Return the network as an SVG document; bottlenecks are the thick links."""
    places = _placed(network)
    _add_hosts(network, places)
    geometry = _Geometry.of(network, places)
    canvas = _Canvas()
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
    """The lines of a box that stands for the hosts of one side of a group at one router."""

    lines: Sequence[str]

    @property
    def width(self) -> float:
        return _width(self.lines)

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + _PAD


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
    """Give every router a column and a row: what is in no column of a path goes between."""
    hosts = set(network.hosts)
    nodes = list(network.switches)  # and hosts that are joined without a router
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
    """Return the column of each router on a group's path: behind all that come before it."""
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
    """Yield the routers along the way of each group's pairs; each way once."""
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
    """Gather the hosts of each side of each group at each router into a box there."""
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
    """Return what to write at alike links: with an arrow what holds in one direction only."""
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
    losses = sorted({_loss_text(channel) for channel in channels if channel.mean_loss})
    policers = sorted({_policer_text(each.policer) for each in channels if each.policer})
    return lines + policers + losses


def _queue_text(channel: Channel) -> str:
    queue, rate_bps = channel.queue, channel.rate_bps
    if queue is None or rate_bps is None:
        return "queue"
    if queue.limit_packets is not None:
        limit, size_bytes = f"{queue.limit_packets}p", queue.limit_packets * FRAME_BYTES
    else:
        size_bytes = queue.limit_bytes or 0
        limit = format_size(size_bytes) if size_bytes else ""
    return f"{queue.kind} {limit} ({8e3 * size_bytes / rate_bps:.4g}ms)"


def _policer_text(policer: Policer) -> str:
    return f"policer {format_rate(policer.rate_bps)}, {format_size(policer.burst_bytes)}"


def _loss_text(channel: Channel) -> str:
    kind = "" if channel.loss is None or channel.loss.kind == "independent" else channel.loss.kind
    return f"{kind} loss {100 * channel.mean_loss:.3g}%".strip()


@dataclass(frozen=True)
class _Geometry:
    """Where the middle of each router is, and how much room a link's caption takes above it."""

    centres: dict[str, Point]
    lift: float

    @classmethod
    def of(cls, network: Network, places: dict[str, _Place]) -> _Geometry:
        """Make columns and rows as wide and high as what stands in them."""
        captions = [
            _link_caption(link) for link in network.links if link.a in places and link.b in places
        ]
        router = max((_width((name,)) for name in places), default=0.0)
        step = max([_LEAST_STEP, *(_width(caption) + router + _GAP for caption in captions)])
        lift = max((len(caption) for caption in captions), default=0) * _LINE + _PAD
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
    canvas: _Canvas, network: Network, link: Link, centres: dict[str, Point], parallel: int
) -> None:
    style = "bottleneck" if link.name in network.bottlenecks else "link"
    caption = _link_caption(link)
    (x1, y1), (x2, y2) = centres[link.a], centres[link.b]
    level = y1 == y2
    passed = level and any(y == y1 and min(x1, x2) < x < max(x1, x2) for x, y in centres.values())
    bend = _BULGE * (parallel + passed)
    canvas.curve((x1, y1), ((x1 + x2) / 2, (y1 + y2) / 2 - 2 * bend), (x2, y2), style)
    lift = (len(caption) * _LINE + _PAD) / 2 + 3 if level else 0.0
    canvas.caption(((x1 + x2) / 2, (y1 + y2) / 2 - bend - lift), caption)


def _draw_hosts(canvas: _Canvas, name: str, place: _Place, geometry: _Geometry) -> None:
    x, y = geometry.centres[name]
    half = _width((name,)) / 2
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


class _Canvas:
    """Collects shapes: lines lie under boxes, and texts above both."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._boxes: list[str] = []
        self._texts: list[str] = []
        self._xs: list[float] = [0.0]
        self._ys: list[float] = [0.0]

    def line(self, start: Point, end: Point) -> None:
        """Draw an access link."""
        self._lines.append(f'<path class="link" d="M{_xy(start)} L{_xy(end)}"/>')

    def curve(self, start: Point, control: Point, end: Point, style: str) -> None:
        """Draw a link between routers."""
        shape = f"M{_xy(start)} Q{_xy(control)} {_xy(end)}"
        self._lines.append(f'<path class="{style}" d="{shape}"/>')

    def box(self, middle: Point, lines: Sequence[str], style: str) -> None:
        """Draw a box around lines of text."""
        self._rectangle(self._boxes, middle, lines, f'class="{style}" rx="4"')
        self._text(middle, lines)

    def caption(self, middle: Point, lines: Sequence[str]) -> None:
        """Write lines of text that hide what is under them."""
        self._rectangle(self._boxes, middle, lines, 'class="paper"')
        self._text(middle, lines)

    def _rectangle(
        self, shapes: list[str], middle: Point, lines: Sequence[str], attributes: str
    ) -> None:
        width, height = _width(lines), len(lines) * _LINE + _PAD
        left, top = middle[0] - width / 2, middle[1] - height / 2
        self._xs += [left, left + width]
        self._ys += [top, top + height]
        shapes.append(
            f'<rect {attributes} x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}"/>'
        )

    def _text(self, middle: Point, lines: Sequence[str]) -> None:
        x, y = middle
        first = y - (len(lines) - 1) * _LINE / 2 + 4
        for number, line in enumerate(lines):
            self._texts.append(
                f'<text x="{x:.1f}" y="{first + number * _LINE:.1f}" text-anchor="middle">'
                f"{html.escape(line)}</text>"
            )

    def document(self, title: str) -> str:
        """Return everything as one SVG document that needs nothing else."""
        left, top = min(self._xs) - _MARGIN, min(self._ys) - 2 * _MARGIN - _LINE
        width = max(max(self._xs) + _MARGIN - left, len(title) * 1.3 * _CHAR + 2 * _MARGIN)
        height = max(self._ys) + _MARGIN - top
        name = html.escape(title)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">'
        )
        return "\n".join(
            [
                head,
                f"<title>{name}</title>",
                f"<style>{_STYLE}</style>",
                f'<rect class="paper" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}"/>',
                f'<text class="title" x="{left + _MARGIN:.1f}" y="{top + _MARGIN + 4:.1f}">'
                f"{name}</text>",
                *self._lines,
                *self._boxes,
                *self._texts,
                "</svg>\n",
            ]
        )


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _width(lines: Sequence[str]) -> float:
    return max(map(len, lines), default=0) * _CHAR + 2 * _PAD


def _height(bundles: Sequence[_Bundle]) -> float:
    """Return the height of boxes one above another."""
    return sum(bundle.height + _GAP for bundle in bundles) - (_GAP if bundles else 0.0)
