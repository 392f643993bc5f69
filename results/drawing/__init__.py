"""Draws a network as SVG: routers in columns along the paths, and a box for each group's hosts.

Equal networks give identical bytes. Colours follow the viewer's light or dark setting.
The same drawing is a document of its own (``draw``) or a part of a run's page (``fragment``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.network import Link, Network
from results.drawing.canvas import LINE_HEIGHT, PADDING, Canvas, DrawnElement, Point, text_width
from results.drawing.captions import MeasuredDrops, link_caption
from results.drawing.node_layout import HostBox, NodePlace, add_hosts, placed

_ROUTER_HEIGHT, _GAP, _INDENT, _LEAST_STEP = 30.0, 10.0, 14.0, 160.0
_SIDE = 50.0
"""Distance between a router and the hosts on its left or right."""
_BULGE = 70.0
"""Offset by which a link bends around a router, or around another link of the same routers."""


def draw(network: Network, title: str, light: bool = False) -> str:
    """Return the network as an SVG document; bottlenecks are the thick links.

    With ``light`` its colours are those for paper, whatever the viewer prefers.
    """
    return _drawn(network, None, None).document(title, light)


def draw_figure(network: Network, title: str) -> str:
    """Return the network as an SVG document for a text that has a caption of its own.

    Its colours are those for paper. The title is for programs that read aloud, and not drawn.
    """
    return _drawn(network, None, None).document(title, light=True, heading=False)


def fragment(
    network: Network, measured: MeasuredDrops, queues: Mapping[str, Sequence[str]], address: str
) -> str:
    """Return the network as an element ``svg`` for a page, whose style sheet has its colours.

    Each line has the names of its links in ``data-links``. Each caption and box of hosts is a link
    to ``address`` with the names of its queues in ``data-queues``, if there are any; both are JSON.

    Args:
        network: what to draw.
        measured: what the run has measured.
        queues: names of queues by the name of a link, the most interesting ones first.
        address: where the queues are shown.
    """
    return _drawn(network, measured, _Addresses(queues, address)).fragment()


MOST_QUEUES = 6
"""Queues that one box leads to: as many as a chart can show."""


@dataclass(frozen=True)
class _Addresses:
    queues: Mapping[str, Sequence[str]]
    address: str

    def wire(self, links: Sequence[str]) -> DrawnElement:
        """Return what makes a part of the drawing lead to its queues."""
        # The first queue of each link comes before the second one of any.
        ranked = [
            (index, name) for link in links for index, name in enumerate(self.queues.get(link, ()))
        ]
        names = [name for _place, name in sorted(ranked, key=lambda one: one[0])]
        return DrawnElement(tuple(links), tuple(names[:MOST_QUEUES]), self.address)


def _drawn(
    network: Network, measured: MeasuredDrops | None, addresses: _Addresses | None
) -> Canvas:
    places = placed(network)
    add_hosts(network, places, measured)
    captions = {
        link.name: link_caption(link, measured)
        for link in network.links
        if link.a in places and link.b in places
    }
    geometry = _Geometry.of(places, captions)
    canvas = Canvas()
    pairs: dict[frozenset[str], int] = {}
    for link in network.links:
        if link.name in captions:
            pair = frozenset((link.a, link.b))
            style = "bottleneck" if link.name in network.bottlenecks else "link"
            wire = addresses.wire([link.name]) if addresses else None
            parallel = pairs.setdefault(pair, 0)
            _draw_link(canvas, link, captions[link.name], geometry.centres, parallel, style, wire)
            pairs[pair] += 1
    for name, place in places.items():
        _draw_hosts(canvas, name, place, geometry, addresses)
        canvas.box(geometry.centres[name], (name,), "router")
    return canvas


@dataclass(frozen=True)
class _Geometry:
    """The centre of each router, and the height of a link's caption above it."""

    centres: dict[str, Point]
    lift: float

    @classmethod
    def of(cls, places: dict[str, NodePlace], texts: Mapping[str, Sequence[str]]) -> _Geometry:
        """Compute the sizes of columns and rows from their content."""
        captions = list(texts.values())
        router = max((text_width((name,)) for name in places), default=0.0)
        step = max([_LEAST_STEP, *(text_width(caption) + router + _GAP for caption in captions)])
        lift = max((len(caption) for caption in captions), default=0) * LINE_HEIGHT + PADDING
        tops: dict[int, float] = {}
        bottoms: dict[int, float] = {}
        for cell in places.values():
            trees = [bundle.width for bundle in (*cell.above, *cell.below)]
            step = max([step, *(_INDENT + width + 2 * _GAP for width in trees)])
            side = max(_height(cell.left), _height(cell.right)) / 2
            above = _ROUTER_HEIGHT / 2 + lift + _GAP + _height(cell.above)
            below = _ROUTER_HEIGHT / 2 + _GAP + _height(cell.below)
            tops[cell.row] = max(tops.get(cell.row, 0.0), side, above)
            bottoms[cell.row] = max(bottoms.get(cell.row, 0.0), side, below)
        middles: dict[int, float] = {}
        edge = 0.0
        for row in sorted(tops):
            middles[row] = edge + tops[row]
            edge = middles[row] + bottoms[row] + 2 * _GAP
        at = {name: (cell.column * step, middles[cell.row]) for name, cell in places.items()}
        return cls(at, lift)


def _draw_link(
    canvas: Canvas,
    link: Link,
    caption: Sequence[str],
    centres: dict[str, Point],
    parallel: int,
    style: str,
    wire: DrawnElement | None,
) -> None:
    (x1, y1), (x2, y2) = centres[link.a], centres[link.b]
    level = y1 == y2
    passed = level and any(y == y1 and min(x1, x2) < x < max(x1, x2) for x, y in centres.values())
    bend = _BULGE * (parallel + passed)
    canvas.curve((x1, y1), ((x1 + x2) / 2, (y1 + y2) / 2 - 2 * bend), (x2, y2), style, wire)
    lift = (len(caption) * LINE_HEIGHT + PADDING) / 2 + 3 if level else 0.0
    canvas.caption(((x1 + x2) / 2, (y1 + y2) / 2 - bend - lift), caption, wire)


def _draw_hosts(
    canvas: Canvas, name: str, place: NodePlace, geometry: _Geometry, addresses: _Addresses | None
) -> None:
    def draw_bundle(bundle: HostBox, middle: Point, *corners: Point) -> None:
        wire = addresses.wire(bundle.links) if addresses else None
        for start, other in itertools.pairwise([(x, y), *corners, middle]):
            canvas.line(start, other, wire)
        canvas.box(middle, bundle.lines, "hosts", wire)

    x, y = geometry.centres[name]
    half = text_width((name,)) / 2
    for bundles, sign in ((place.left, -1), (place.right, 1)):
        top = y - _height(bundles) / 2
        for bundle in bundles:
            middle = (x + sign * (half + _SIDE + bundle.width / 2), top + bundle.height / 2)
            draw_bundle(bundle, middle)
            top += bundle.height + _GAP
    for bundles, sign, lift in ((place.above, -1, geometry.lift), (place.below, 1, 0.0)):
        free = _ROUTER_HEIGHT / 2 + lift + _GAP
        for bundle in bundles:
            middle = (x + _INDENT + bundle.width / 2, y + sign * (free + bundle.height / 2))
            draw_bundle(bundle, middle, (x, middle[1]))
            free += bundle.height + _GAP


def _height(bundles: Sequence[HostBox]) -> float:
    """Return the height of boxes one above another."""
    return sum(bundle.height + _GAP for bundle in bundles) - (_GAP if bundles else 0.0)
