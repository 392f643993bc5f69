"""A figure of a paper's column: panels, a legend above them, and files with equal bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.units import quoted_list
from results.figures import _frame
from results.figures._frame import FigureFrame
from results.figures._style import LINES, WIDTHS_IN, PlotStyle

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

GRID_HEIGHT_IN = 4.1
"""Height that a figure of many panels should not exceed: less than half of a page."""

LEAST_PANEL_IN = 1.4
FLATTEST = 0.45
"""Least width of a panel, and least height as a part of its width, in a grid."""

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""Without dates and versions, so that equal data give equal bytes."""


def line(index: int) -> PlotStyle:
    """Return how the series of that index looks."""
    return LINES[index]


class TooManyError(UsageError):
    """A figure would have more lines or panels than can be told apart."""


def require_distinct(
    series: Sequence[str], most: int = len(LINES), by: str = "by flow or where"
) -> None:
    """Require that the series can be told apart, of which ``most`` can.

    ``by`` says in the message how a user keeps fewer.

    Raises:
        TooManyError: there are too many.
    """
    if len(series) > most:
        raise TooManyError(
            f"{len(series)} lines ({quoted_list(series[:10])}, ...) cannot be told apart; "
            f"keep at most {most} of them {by}"
        )


def _shape_of_grid(number: int, width_in: float) -> tuple[int, int, float]:
    """Return (rows, columns, height of a panel) of that many panels.

    Where they would be higher than :data:`GRID_HEIGHT_IN`, panels are flatter and narrower.
    """
    columns = min(number, max(2, round(width_in / GRID_PANEL_IN)))
    while True:
        rows = -(-number // columns)
        free_in = (GRID_HEIGHT_IN - LABEL_IN) / rows - TITLE_IN
        least_in = FLATTEST * width_in / columns
        if free_in >= least_in or width_in / (columns + 1) < LEAST_PANEL_IN:
            break
        columns += 1
    columns = -(-number // rows)  # so that the last row is as full as it can be
    usual_in = min(width_in / columns * SHAPE, MOST_HEIGHT_IN)
    return rows, columns, min(usual_in, max(free_in, least_in))


class Canvas:
    """A figure of a given width; use it inside ``_style.applied()``.

    ``frame`` is what the user sets, and ``columns`` the number of panels beside each other. Call
    :meth:`finish` when the content is drawn.
    """

    def __init__(self, width: str, frame: FigureFrame | None = None) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.width_in = WIDTHS_IN[width]
        self.columns = 1
        self.frame = frame if frame is not None else FigureFrame()
        self._drawn_into: list[Axes] = []
        self._has_legend = False
        self.figure: Figure = Figure(figsize=(self.width_in, self._height_in(1)))
        FigureCanvasAgg(self.figure)

    def _height_in(self, rows: int) -> float:
        if rows == 1:
            return min(self.width_in * SHAPE, MOST_HEIGHT_IN)
        return rows * PANEL_HEIGHT_IN + 0.45

    def panel(self) -> Axes:
        """Return the axes of a figure with one panel."""
        self._drawn_into = [self.figure.add_subplot()]
        return self._drawn_into[0]

    def panels(self, rows: int, heights_in: Sequence[float] = ()) -> list[Axes]:
        """Return the axes of panels above each other that share the horizontal axis.

        They are equally high, unless each has a height.
        """
        height_in = sum(heights_in) + LABEL_IN if heights_in else self._height_in(rows)
        self.figure.set_size_inches(self.width_in, height_in)
        axes = self.figure.subplots(
            rows, 1, sharex=True, squeeze=False, height_ratios=heights_in or None
        )
        self._drawn_into = list(axes[:, 0])
        return list(self._drawn_into)

    def grid(self, number: int) -> list[Axes]:
        """Return the axes of panels beside each other that share both axes, row by row.

        Only those at the edges have ticks with labels.
        """
        if number == 1:
            return [self.panel()]
        rows, columns, height_in = _shape_of_grid(number, self.width_in)
        self.figure.set_size_inches(self.width_in, rows * (height_in + TITLE_IN) + LABEL_IN)
        axes = self.figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for index, panel in enumerate(axes.flat):
            if index >= number:
                panel.remove()
            elif index + columns >= number:
                panel.xaxis.set_tick_params(labelbottom=True)
        self.columns = columns
        self._drawn_into = list(axes.flat)[:number]
        return list(self._drawn_into)

    def finish(self) -> None:
        """Set the limits, lines and height that the user wants.

        Raises:
            UsageError: the figure has no such axis, or no legend whose entries are named.
        """
        if self.frame.legend and not self._has_legend:
            raise UsageError("legend: this figure has no legend; leave out other words for entries")
        _frame.apply(self.frame, self._drawn_into)
        if self.frame.height_in is not None:
            self.figure.set_figheight(self.frame.height_in)

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

        A single line needs none. What all labels begin with becomes its title, unless the user
        names entries. ``signs`` are characters with their meaning. The figure grows by the further
        lines.

        Raises:
            UsageError: the user names an entry that is not there.
        """
        from matplotlib.lines import Line2D

        renamed = self._renamed(labels)
        if len(labels) < 2 and renamed == list(labels):
            handles, renamed = (), []
        title, labels = ("", renamed) if self.frame.legend else _without_beginning(renamed)
        lines = [
            reference
            for references in self.frame.lines.values()
            for reference in references
            if reference.label
        ]
        if not labels and not signs and not lines:
            return
        markers = [f"${_IN_FORMULAS.get(sign, sign)}$" for sign, _meaning in signs]
        handles = [
            *handles,
            *(Line2D([], [], **_frame.look(self.frame, reference)) for reference in lines),
            *(Line2D([], [], ls="none", color="black", marker=marker, ms=4) for marker in markers),
        ]
        labels = [*labels, *(reference.label for reference in lines)]
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
        self.grow(more * LEGEND_LINE_IN)

    def grow(self, more_in: float) -> None:
        """Make the figure higher, so that what is around the panels takes nothing from them."""
        self.figure.set_figheight(self.figure.get_figheight() + more_in)

    def _renamed(self, labels: Sequence[str]) -> list[str]:
        self._has_legend = True
        for name in self.frame.legend:
            if name not in labels:
                raise UsageError(f"legend: {_frame.no_name('entry', name, labels)}")
        return [self.frame.legend.get(label, label) for label in labels]

    def content(self, form: str) -> bytes:
        """Return the figure as a file of that format; equal figures give equal bytes."""
        from matplotlib.text import Text

        for text in self.figure.findobj(Text):
            if isinstance(text, Text) and (shown := plaintext.visible(text.get_text())):
                text.set_text(shown)
        data = io.BytesIO()
        self.figure.savefig(data, format=form, metadata=_METADATA[form])
        return data.getvalue()


_IN_FORMULAS = {"~": r"\sim", "†": r"\dagger"}
"""Signs that have another name in matplotlib's formulas."""


def _without_beginning(labels: Sequence[str]) -> tuple[str, list[str]]:
    """Return (the words that all labels begin with, the rest of each label).

    Words in brackets stay together.
    """
    if len(labels) < 2:
        return "", list(labels)
    words = [label.split(" ") for label in labels]
    most = min(len(label_words) for label_words in words) - 1
    same = 0
    while same < most and len({label_words[same] for label_words in words}) == 1:
        same += 1
    while same and not _closed(" ".join(words[0][:same])):
        same -= 1
    title = " ".join(words[0][:same]).strip(" ,")
    if "," not in title:  # a title such as "cubic, rate" begins with a name, which stays as it is
        title = title[:1].upper() + title[1:]
    return title, [" ".join(label_words[same:]) for label_words in words]


def _closed(text: str) -> bool:
    """Tell whether a text closes all brackets that it opens."""
    return all(text.count(opening) == text.count(other) for opening, other in ("()", "{}", "[]"))
