"""A figure of a paper's column: panels, a legend above them, and files with equal bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.errors import UsageError
from results.figures._style import LINES, WIDTHS_IN, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPE = 0.62
"""Height of a single panel as a part of its width, and of a panel in a wide figure."""

MOST_HEIGHT_IN = 2.6
PANEL_HEIGHT_IN = 1.05
LEGEND_LINE_IN = 0.14

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""Without dates and versions, so that equal data give equal bytes."""


def line(index: int) -> Line:
    """Return how the series of that index looks."""
    return LINES[index]


def require_distinct(series: Sequence[str]) -> None:
    """Require that the series can be told apart.

    Raises:
        UsageError: there are too many.
    """
    if len(series) > len(LINES):
        raise UsageError(
            f"{len(series)} lines ({', '.join(series[:10])}, ...) cannot be told apart; "
            f"keep at most {len(LINES)} of them by flow or where"
        )


class Canvas:
    """A figure of a given width; use it inside ``_style.applied()``."""

    def __init__(self, width: str) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.width_in = WIDTHS_IN[width]
        self.figure: Figure = Figure(figsize=(self.width_in, self._height_in(1)))
        FigureCanvasAgg(self.figure)

    def _height_in(self, rows: int) -> float:
        if rows == 1:
            return min(self.width_in * SHAPE, MOST_HEIGHT_IN)
        return rows * PANEL_HEIGHT_IN + 0.45

    def panel(self) -> Axes:
        """Return the axes of a figure with one panel."""
        return self.figure.add_subplot()

    def panels(self, rows: int) -> list[Axes]:
        """Return the axes of panels above each other that share the horizontal axis."""
        self.figure.set_size_inches(self.width_in, self._height_in(rows))
        axes = self.figure.subplots(rows, 1, sharex=True, squeeze=False)
        return list(axes[:, 0])

    def legend(self, handles: Sequence[Any], labels: Sequence[str]) -> None:
        """Put a legend above the panels, in as few lines as the width allows; none for one.

        What all labels begin with becomes its title. The figure grows by the further lines.
        """
        if len(labels) < 2:
            return
        title, labels = _without_beginning(labels)
        for rows in range(1, len(labels) + 1):
            columns = math.ceil(len(labels) / rows)
            made = self.figure.legend(
                handles, labels, ncols=columns, loc="outside upper center", borderaxespad=0.2,
                title=title or None,
            )  # fmt: skip
            width = made.get_window_extent().width / self.figure.dpi
            if width <= self.width_in or columns == 1:
                break
            made.remove()
        more = rows - 1 + bool(title)
        self.figure.set_figheight(self.figure.get_figheight() + more * LEGEND_LINE_IN)

    def content(self, form: str) -> bytes:
        """Return the figure as a file of that format; equal figures give equal bytes."""
        data = io.BytesIO()
        self.figure.savefig(data, format=form, metadata=_METADATA[form])
        return data.getvalue()


def _without_beginning(labels: Sequence[str]) -> tuple[str, list[str]]:
    """Return (the words that all labels begin with, the rest of each label)."""
    words = [label.split(" ") for label in labels]
    most = min(len(each) for each in words) - 1
    same = 0
    while same < most and len({each[same] for each in words}) == 1:
        same += 1
    title = " ".join(words[0][:same]).strip(" ,")
    return title[:1].upper() + title[1:], [" ".join(each[same:]) for each in words]
