"""The style of figures: sizes of columns, fonts, and lines that differ without colour, too.

Colours are those of the dashboard's light style, so a line has the same one on a page and in its
figure. Their hues are after Okabe and Ito (https://jfly.uni-koeln.de/color/). Lightness was chosen
so that all eight differ for eyes without one kind of cones, that each stands out from white, and
that the first four differ in grey. Each line also has its own dashes and markers, each bar its own
hatch. tests/unit/web/charts/test_colours.py has the limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

WIDTHS_IN = {"ieee": 3.5, "ieee-wide": 7.16, "acm": 3.33, "acm-wide": 7.0}
"""Widths of a column and of a page, from the templates IEEEtran and acmart."""

SALT = "tcp-orchestrator"
"""Fixes the names of an SVG's parts, which are random otherwise."""

FONT = "STIXGeneral"
"""A font like Times, which comes with matplotlib."""

TICK_SIZE = 7
"""Size of the labels of ticks in points."""

SIGN_SIZE = 6
"""Size of the signs above means in points."""

MAP = "cividis"
"""A colour map whose lightness grows evenly, for all kinds of colour vision."""


class PlotStyle(NamedTuple):
    """How a line, or the bars of one series, look; ``edge`` is of a bar's outline and hatch."""

    color: str
    dashes: Any
    marker: str
    hatch: str
    edge: str = "black"


LINES = (
    PlotStyle("#126fab", "-", "o", ""),
    PlotStyle("#dc6d1c", (0, (5, 1.5)), "s", "////"),
    PlotStyle("#195939", (0, (1, 1.2)), "^", "....", "white"),
    PlotStyle("#5c165c", (0, (5, 1.5, 1, 1.5)), "D", "\\\\\\\\", "white"),
    PlotStyle("#72550f", (0, (3, 1, 1, 1, 1, 1)), "v", "xxxx", "white"),
    PlotStyle("#0e9ec5", (0, (8, 2)), "P", "----"),
    PlotStyle("#4b535d", (0, (2, 1)), "X", "||||", "white"),
    PlotStyle("#734bdc", (0, (8, 1.5, 1, 1.5, 1, 1.5)), "*", "++++"),
)

OTHER_AREA, OTHER_MARK = "#C8C8C8", "#808080"
"""Colours of what belongs to flows that have none of their own in a figure."""

_SETTINGS: dict[Any, Any] = {
    "font.family": FONT,
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": TICK_SIZE,
    "ytick.labelsize": TICK_SIZE,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.4,
    "grid.color": "#D0D0D0",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "legend.borderpad": 0.1,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": SALT,
}


@contextmanager
def applied() -> Iterator[None]:
    """Use the project's style, whatever the user's matplotlibrc says."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield
