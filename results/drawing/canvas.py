"""Draws lines, boxes and captions into an SVG document."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator import plaintext

_CHARACTER_WIDTH, LINE_HEIGHT, PADDING, _MARGIN = 6.7, 15.0, 8.0, 20.0

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


@dataclass(frozen=True)
class DrawnElement:
    """What a part of a drawing on a page is of: names of links and queues, and their address."""

    links: tuple[str, ...]
    queues: tuple[str, ...]
    address: str

    @property
    def marks(self) -> str:
        """The attribute by which a script finds the part."""
        return f" data-links={_quoted(json.dumps(self.links))}"

    @property
    def anchor(self) -> str:
        """The start of a link to the queues; empty without any."""
        if not self.queues:
            return ""
        names = _quoted(json.dumps(self.queues))
        return f"<a href={_quoted(self.address)} data-queues={names}>"


class Canvas:
    """Collects shapes; boxes cover lines, and texts cover both."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._boxes: list[str] = []
        self._texts: list[str] = []
        self._xs: list[float] = [0.0]
        self._ys: list[float] = [0.0]

    def line(self, start: Point, end: Point, wire: DrawnElement | None = None) -> None:
        """Draw an access link."""
        self._path("link", f"M{_xy(start)} L{_xy(end)}", wire)

    def curve(
        self, start: Point, control: Point, end: Point, style: str, wire: DrawnElement | None = None
    ) -> None:
        """Draw a link between routers."""
        self._path(style, f"M{_xy(start)} Q{_xy(control)} {_xy(end)}", wire)

    def _path(self, style: str, shape: str, wire: DrawnElement | None) -> None:
        marks = wire.marks if wire else ""
        self._lines.append(f'<path class="{style}" d="{shape}"{marks}/>')

    def box(
        self, middle: Point, lines: Sequence[str], style: str, wire: DrawnElement | None = None
    ) -> None:
        """Draw a box around lines of text."""
        self._labelled(middle, lines, f'class="{style}" rx="4"', wire)

    def caption(
        self, middle: Point, lines: Sequence[str], wire: DrawnElement | None = None
    ) -> None:
        """Write lines of text on a background that covers the lines below."""
        self._labelled(middle, lines, 'class="paper"', wire)

    def _labelled(
        self, middle: Point, lines: Sequence[str], attributes: str, wire: DrawnElement | None
    ) -> None:
        anchor = wire.anchor if wire else ""
        # A link to queues has its own rectangle, so that all of it can be clicked.
        self._texts += [anchor] if anchor else []
        self._rectangle(self._texts if anchor else self._boxes, middle, lines, attributes)
        self._text(middle, lines)
        self._texts += ["</a>"] if anchor else []

    def _rectangle(
        self, shapes: list[str], middle: Point, lines: Sequence[str], attributes: str
    ) -> None:
        width, height = text_width(lines), len(lines) * LINE_HEIGHT + PADDING
        left, top = middle[0] - width / 2, middle[1] - height / 2
        self._xs += [left, left + width]
        self._ys += [top, top + height]
        shapes.append(
            f'<rect {attributes} x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}"/>'
        )

    def _text(self, middle: Point, lines: Sequence[str]) -> None:
        x, y = middle
        first = y - (len(lines) - 1) * LINE_HEIGHT / 2 + 4
        for number, line in enumerate(lines):
            self._texts.append(
                f'<text x="{x:.1f}" y="{first + number * LINE_HEIGHT:.1f}" text-anchor="middle">'
                f"{html.escape(plaintext.one_line(line))}</text>"
            )

    def document(self, title: str, light: bool = False, heading: bool = True) -> str:
        """Return all shapes as one SVG document without external resources.

        With ``light`` it has the light colours only, and no variables: for programs that typeset.
        With ``heading`` the title is drawn, too.
        """
        if heading:
            left, top, width, height = self._frame(2 * _MARGIN + LINE_HEIGHT)
        else:  # as near to the boxes as a figure can be
            left, top, width, height = self._frame(PADDING, min(self._ys[1:], default=0.0))
        name, drawn = html.escape(plaintext.one_line(title)), []
        if heading:
            width = max(width, len(title) * 1.3 * _CHARACTER_WIDTH + 2 * _MARGIN)
            position = f'x="{left + _MARGIN:.1f}" y="{top + _MARGIN + 4:.1f}"'
            drawn = [f'<text class="title" {position}>{name}</text>']
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">'
        )
        return "\n".join(
            [
                head,
                f"<title>{name}</title>",
                f"<style>{_light_style() if light else _STYLE}</style>",
                f'<rect class="paper" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}"/>',
                *drawn,
                *self._lines,
                *self._boxes,
                *self._texts,
                "</svg>\n",
            ]
        )

    def _frame(
        self, above: float, highest: float | None = None
    ) -> tuple[float, float, float, float]:
        """Return left, top, width and height of all boxes with margins.

        ``highest`` is the top of the boxes, where it is not to be at most 0.
        """
        left = min(self._xs) - _MARGIN
        top = (min(self._ys) if highest is None else highest) - above
        return left, top, max(self._xs) + _MARGIN - left, max(self._ys) + _MARGIN - top

    def fragment(self) -> str:
        """Return all shapes as an element for a page, without a title and without a style."""
        left, top, width, height = self._frame(_MARGIN)
        head = (
            f'<svg class="network" role="group" aria-label="Network" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">'
        )
        return "\n".join([head, *self._lines, *self._boxes, *self._texts, "</svg>\n"])


def _light_style() -> str:
    """Return the style with the light colours in place of the variables."""
    colours = dict(re.findall(r"(--[a-z]+): (#[0-9a-f]+);", _STYLE.partition("@media")[0]))
    rest = _STYLE[_STYLE.index("text {") :]
    for name, colour in colours.items():
        rest = rest.replace(f"var({name})", colour)
    return f'\nsvg {{ font: 11px "DejaVu Sans Mono", monospace; }}\n{rest}'


def _quoted(text: str) -> str:
    return f'"{html.escape(plaintext.one_line(text))}"'


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def text_width(lines: Sequence[str]) -> float:
    """Return the width of a box around lines of text."""
    return max(map(len, lines), default=0) * _CHARACTER_WIDTH + 2 * PADDING
