"""A figure of one statement: the paper's number or range beside our means, row by row."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from results.figures._canvas import Canvas, line
from results.figures._style import applied

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


def figure(statement: Mapping[str, Any], form: str = "svg", width: str = "ieee-wide") -> bytes:
    """Return a figure of a statement as a file; equal statements give equal bytes.

    ``statement`` is one of the document of ``orchestrator reproduce --json``. A grey band has what
    agrees with the paper, an open marker the paper's number, and a point our mean with its
    interval. Rows without a value have no point. A row may have ``ablations``: mean, low and high
    by the name of an ablation, which get points of their own.
    """
    rows = statement["rows"]
    with applied():
        canvas = Canvas(width)
        canvas.figure.set_figheight(ROW_IN * len(rows) + AROUND_IN)
        panel = canvas.panel()
        handles = _draw(panel, rows)
        panel.set_yticks(range(len(rows)), [_short(row["label"]) for row in rows])
        panel.set_ylim(len(rows) - 1 + max(0.6, BELOW * (len(_ablations(rows)) + 1)), -0.6)
        panel.set_xlabel(statement["unit"] or _axis(rows))
        panel.set_title(
            textwrap.fill(f"{statement['id']}: {statement['says']}", TITLE_COLUMNS), fontsize=8
        )
        canvas.legend(list(handles.values()), list(handles))
        return canvas.content(form)


def _axis(rows: Sequence[Mapping[str, Any]]) -> str:
    return "ratio" if any("/" in row["label"] for row in rows) else "value"


def _short(label: str) -> str:
    return textwrap.shorten(label, LABEL_COLUMNS, placeholder="...")


def _draw(panel: Axes, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Draw bands, numbers and means; return what the legend names."""
    low, high = _limits(rows)
    handles: dict[str, Any] = {}
    for place, row in enumerate(rows):
        first, last = row["accepted"]
        left, right = low if first is None else first, high if last is None else last
        band = panel.barh(place, right - left, left=left, height=0.7, color=BAND, zorder=1)
        handles["agrees with the paper"] = band
        for number in row["numbers"]:
            (mark,) = panel.plot(
                number,
                place,
                line(1).marker,
                color=line(1).color,
                markerfacecolor="white",
                zorder=3,
            )
            handles["paper"] = mark
        if row["mean"] is not None:
            handles["here, 95%"] = _point(panel, place, row, 0)
    for number, name in enumerate(_ablations(rows)):
        for place, row in enumerate(rows):
            if name in row.get("ablations", {}):
                lower = place + BELOW * (number + 1)
                handles[name] = _point(panel, lower, row["ablations"][name], number + 2)
    if low > 0.0 and high > WIDE * low:
        panel.set_xscale("log")
    panel.set_xlim(low, high)
    return handles


def _point(panel: Axes, place: float, value: Mapping[str, Any], look: int) -> Any:
    """Draw a mean with its interval, and return what the legend shows of it."""
    mean = value["mean"]
    ends = [mean if value[end] is None else value[end] for end in ("low", "high")]
    return panel.errorbar(
        mean, place, xerr=[[mean - ends[0]], [ends[1] - mean]], fmt=line(look).marker,
        color=line(look).color, capsize=2, elinewidth=0.9, zorder=4,
    )  # fmt: skip


def _ablations(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.get("ablations", {})))


def _limits(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of the axis: all values with a margin, where open bands end, too."""
    points = [point for row in rows for point in (row, *row.get("ablations", {}).values())]
    values = [
        value
        for value in (
            *(each for row in rows for each in (*row["accepted"], *row["numbers"])),
            *(point[key] for point in points for key in ("mean", "low", "high")),
        )
        if value is not None
    ]
    low, high = min(values), max(values)
    if low > 0.0 and high > WIDE * low:
        return low / 1.5, high * 1.5
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room
