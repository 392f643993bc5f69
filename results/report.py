"""A report of experiments as one HTML file and one PDF, from text, tables and figures.

The files are self-contained: they need no other file, no network and no script. Equal content gives
equal bytes.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from results.figures import _style

if TYPE_CHECKING:
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

Cells = Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table: its title, the headings of its columns, and its rows."""

    title: str
    headings: Cells
    rows: Sequence[Cells]


@dataclass(frozen=True)
class Picture:
    """A figure: its caption, its SVG, and a function that draws it for the PDF (or None)."""

    caption: str
    svg: bytes
    figure: Callable[[], Figure] | None = None


@dataclass(frozen=True)
class Section:
    """One experiment: what was asked, how, what came out, and how far to trust it."""

    title: str
    question: str
    command: str
    tables: Sequence[Table]
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    scenario: str = ""
    extra: Sequence[Table] = field(default_factory=tuple)


_CSS = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 0.5rem 0 1.5rem; display: block;
  overflow-x: auto; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #8884; text-align: left;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
figure { margin: 1.5rem 0; } figure img { background: white; max-width: 100%; padding: 0.5rem; }
figcaption { font-size: 0.85rem; opacity: 0.8; }
pre { background: #8881; padding: 0.8rem; overflow-x: auto; font-size: 0.8rem; }
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html_page(title: str, sections: Sequence[Section]) -> str:
    """Return the report as an HTML document. Every text is escaped."""
    body = "\n".join(_section(section) for section in sections)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>", f"<p>{html.escape(section.question)}</p>"]
    parts += [_picture(picture) for picture in section.pictures]
    parts += [_table(table) for table in section.tables]
    if section.notes:
        items = "".join(f"<li>{html.escape(note)}</li>" for note in section.notes)
        parts.append(f"<h3>What to know</h3><ul>{items}</ul>")
    parts.append("<h3>Trust and provenance</h3>")
    parts += [_table(table) for table in section.extra]
    parts.append(f"<h3>Run it again</h3><pre>{html.escape(section.command)}</pre>")
    parts.append(f"<h3>Scenario</h3><pre>{html.escape(section.scenario)}</pre>")
    return "\n".join(parts)


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode("ascii")
    caption = html.escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.headings)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f"<table><caption>{html.escape(table.title)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    )


_PAGE_IN = (8.27, 11.69)  # A4
_LINES, _COLUMNS = 84, 112
_FONT_POINTS, _MARGIN = 6.6, 0.06


def pdf(title: str, sections: Sequence[Section]) -> bytes:
    """Return the report as a PDF: pages of text in a fixed-width font, and a page a figure."""
    from matplotlib.backends.backend_pdf import PdfPages

    data = io.BytesIO()
    metadata: dict[str, Any] = {"Title": title, "CreationDate": None, "Creator": None}
    with _style.applied(), PdfPages(data, metadata={**metadata, "Producer": None}) as pages:
        for section in sections:
            _text_pages(pages, _lines(title, section))
            for picture in section.pictures:
                if picture.figure is not None:
                    pages.savefig(picture.figure())
            _text_pages(pages, ["Scenario", "", *section.scenario.splitlines()])
    return data.getvalue()


def _lines(title: str, section: Section) -> list[str]:
    lines = [title, "", section.title, "", *_wrapped(section.question), ""]
    for table in (*section.tables, *section.extra):
        lines += [table.title, *_plain(table), ""]
    for note in section.notes:
        lines += [*_wrapped(f"- {note}")]
    return [*lines, "", "Run it again", "", *section.command.splitlines()]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _COLUMNS) or [""]


def _plain(table: Table) -> list[str]:
    """Return a table as lines with columns of equal width; long lines are wrapped."""
    cells = [list(table.headings), *map(list, table.rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(table.headings))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    rule = "-" * min(_COLUMNS, max(map(len, lines)))
    return [piece for line in (lines[0], rule, *lines[1:]) for piece in _cut(line)]


def _cut(line: str) -> list[str]:
    first, rest = line[:_COLUMNS], line[_COLUMNS:]
    return [first, *(f"    {piece}" for piece in _cut(rest))] if rest else [first]


def _text_pages(pages: PdfPages, lines: Sequence[str]) -> None:
    from matplotlib.figure import Figure

    cut = [piece for line in lines for piece in _cut(line.expandtabs(4))]
    for first in range(0, len(cut), _LINES):
        page = Figure(figsize=_PAGE_IN)
        page.text(
            _MARGIN, 1 - _MARGIN / 2, "\n".join(cut[first : first + _LINES]),
            family="monospace", fontsize=_FONT_POINTS, va="top", linespacing=1.35,
            parse_math=False,
        )  # fmt: skip
        pages.savefig(page, bbox_inches=None)  # type: ignore[no-untyped-call]
