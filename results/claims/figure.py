"""A figure of one statement: the paper's number or range beside our means, row by row."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from results.claims.judge import RowFinding
from results.claims.judged_statements import JudgedRow
from results.claims.stated.rows import ClaimRow
from results.figures._canvas import Canvas, line
from results.figures._style import applied
from results.layout.series import ends, known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_IN = 0.24
AROUND_IN = 0.85
LABEL_COLUMNS = 34
TITLE_COLUMNS = 80
BAND = "#D9D9D9"
BELOW = 0.2
"""How far the points of each ablation are below those of the row itself."""
WIDE = 30.0
"""An axis whose ends differ by a larger factor is logarithmic."""


@dataclass(frozen=True)
class FigureRow:
    """A row of the figure. ``ablations`` has what was found with each ablation, by its name.

    All of ``ablations`` have a mean. They get points of their own.
    """

    label: str
    row: ClaimRow
    finding: RowFinding
    ablations: Mapping[str, RowFinding] = field(default_factory=dict)


def figure_rows(judged: Iterable[JudgedRow]) -> list[FigureRow]:
    """Return the rows of a figure of one statement."""
    return [
        FigureRow(judged_row.label, judged_row.row, judged_row.finding) for judged_row in judged
    ]


def figure(
    title: str,
    unit: str,
    rows: Sequence[FigureRow],
    form: str = "svg",
    width: str = "ieee-wide",
) -> bytes:
    """Return a figure of statements as a file; equal values give equal bytes.

    A grey band has what agrees with the paper, an open marker the paper's number, and a point our
    mean with its interval. Rows without a value have no point. ``title`` is wrapped.
    """
    with applied():
        canvas = Canvas(width)
        canvas.figure.set_figheight(ROW_IN * len(rows) + AROUND_IN)
        panel = canvas.panel()
        handles = _draw(panel, rows)
        panel.set_yticks(range(len(rows)), [_short(row.label) for row in rows])
        panel.set_ylim(len(rows) - 1 + max(0.6, BELOW * (len(_ablations(rows)) + 1)), -0.6)
        panel.set_xlabel(unit or _axis(rows))
        panel.set_title(textwrap.fill(title, TITLE_COLUMNS), fontsize=8)
        canvas.legend(list(handles.values()), list(handles))
        return canvas.content(form)


def _axis(rows: Sequence[FigureRow]) -> str:
    return "ratio" if any("/" in row.label for row in rows) else "value"


def _short(label: str) -> str:
    return textwrap.shorten(label, LABEL_COLUMNS, placeholder="...")


def _draw(panel: Axes, rows: Sequence[FigureRow]) -> dict[str, Any]:
    """Draw bands, numbers and means; return what the legend names."""
    low, high = _limits(rows)
    handles: dict[str, Any] = {}
    for position, row in enumerate(rows):
        accepted = row.row.accepted
        left = low if accepted.low is None else accepted.low
        right = high if accepted.high is None else accepted.high
        band = panel.barh(position, right - left, left=left, height=0.7, color=BAND, zorder=1)
        handles["agrees with the paper"] = band
        for number in row.row.numbers:
            (mark,) = panel.plot(
                number,
                position,
                line(1).marker,
                color=line(1).color,
                markerfacecolor="white",
                zorder=3,
            )
            handles["paper"] = mark
        if row.finding.mean is not None:
            handles["here, 95%"] = _point(panel, position, row.finding, 0)
    for number, name in enumerate(_ablations(rows)):
        for position, row in enumerate(rows):
            if name in row.ablations:
                lower = position + BELOW * (number + 1)
                handles[name] = _point(panel, lower, row.ablations[name], number + 2)
    if low > 0.0 and high > WIDE * low:
        panel.set_xscale("log")
    panel.set_xlim(low, high)
    return handles


def _point(panel: Axes, position: float, finding: RowFinding, style_number: int) -> Any:
    """Draw a mean with its interval, and return what the legend shows of it."""
    mean, (low, high) = known(finding), ends(finding)
    return panel.errorbar(
        mean, position, xerr=[[mean - low], [high - mean]], fmt=line(style_number).marker,
        color=line(style_number).color, capsize=2, elinewidth=0.9, zorder=4,
    )  # fmt: skip


def _ablations(rows: Sequence[FigureRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.ablations))


def _limits(rows: Sequence[FigureRow]) -> tuple[float, float]:
    """Return the ends of the axis: all values with a margin, where open bands end, too."""
    findings = [each for row in rows for each in (row.finding, *row.ablations.values())]
    values = [
        value
        for value in (
            *(each for row in rows for each in (*row.row.accepted.edges(), *row.row.numbers)),
            *(end for each in findings for end in (each.mean, each.low, each.high)),
        )
        if value is not None
    ]
    low, high = min(values), max(values)
    if low > 0.0 and high > WIDE * low:
        return low / 1.5, high * 1.5
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room
