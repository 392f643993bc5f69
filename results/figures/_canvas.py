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
GRID_PANEL_IN = 2.3
"""About the width of one of several panels beside each other."""

ROUNDING = 1.04
"""By so much a legend may grow at another resolution, because glyphs stand at whole pixels."""

TITLE_IN = 0.12
LABEL_IN = 0.3
"""Heights of a panel's title, and of the label below all panels."""

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""Without dates and versions, so that equal data give equal bytes."""


def line(index: int) -> Line:
    """Return how the series of that index looks."""
    return LINES[index]


def require_distinct(series: Sequence[str], most: int = len(LINES)) -> None:
    """Require that the series can be told apart, of which ``most`` can.

    Raises:
        UsageError: there are too many.
    """
    if len(series) > most:
        raise UsageError(
            f"{len(series)} lines ({', '.join(series[:10])}, ...) cannot be told apart; "
            f"keep at most {most} of them by flow or where"
        )


class Canvas:
    """A figure of a given width; use it inside ``_style.applied()``.

    ``columns`` is the number of panels beside each other.
    """

    def __init__(self, width: str) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.width_in = WIDTHS_IN[width]
        self.columns = 1
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

    def grid(self, number: int) -> list[Axes]:
        """Return the axes of panels beside each other that share both axes, row by row.

        Only those at the edges have ticks with labels.
        """
        if number == 1:
            return [self.panel()]
        columns = min(number, max(2, round(self.width_in / GRID_PANEL_IN)))
        rows = -(-number // columns)
        height_in = min(self.width_in / columns * SHAPE, MOST_HEIGHT_IN)
        self.figure.set_size_inches(self.width_in, rows * (height_in + TITLE_IN) + LABEL_IN)
        axes = self.figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for place, panel in enumerate(axes.flat):
            if place >= number:
                panel.remove()
            elif place + columns >= number:
                panel.xaxis.set_tick_params(labelbottom=True)
        self.columns = columns
        return list(axes.flat)[:number]

    def share_labels(self, panels: Sequence[Axes]) -> None:
        """Let several panels have one label of each axis in common."""
        if len(panels) == 1:
            return
        size = panels[0].xaxis.label.get_fontsize()
        self.figure.supxlabel(panels[0].get_xlabel(), fontsize=size)
        self.figure.supylabel(panels[0].get_ylabel(), fontsize=size)
        for panel in panels:
            panel.set(xlabel="", ylabel="")

    def legend(
        self,
        handles: Sequence[Any],
        labels: Sequence[str],
        signs: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Put a legend above the panels, in as few lines as the width allows.

        A single line needs none. What all labels begin with becomes its title. ``signs`` are
        characters with their meaning. The figure grows by the further lines.
        """
        from matplotlib.lines import Line2D

        if len(labels) < 2:
            handles, labels = (), ()
        if not labels and not signs:
            return
        title, labels = _without_beginning(labels) if labels else ("", labels)
        handles = [*handles, *(
            Line2D([], [], ls="none", color="black", marker=f"${sign}$".replace("~", r"\sim"), ms=4)
            for sign, _meaning in signs
        )]  # fmt: skip
        labels = [*labels, *(meaning for _sign, meaning in signs)]
        for rows in range(1, len(labels) + 1):
            columns = math.ceil(len(labels) / rows)
            made = self.figure.legend(
                handles, labels, ncols=columns, loc="outside upper center", borderaxespad=0.2,
                title=title or None,
            )  # fmt: skip
            width = made.get_window_extent().width / self.figure.dpi
            if width * ROUNDING <= self.width_in or columns == 1:
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
