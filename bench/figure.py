"""The figure of wall times over flows, rate, hops, sampling and hosts."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bench.cases import SCALES, Case
from results.figures._style import LINES, applied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_IN = (7.16, 3.4)

AXES: dict[str, tuple[str, Callable[[Case], float]]] = {
    "flows": ("flows", lambda case: case.flows),
    "rate": ("rate of the bottleneck in Mbit/s", lambda case: case.rate_bps / 1e6),
    "hops": ("bottlenecks in a row", lambda case: case.hops),
    "sampling": ("period of samples in ms", lambda case: case.sample_s * 1e3),
    "hosts": ("hosts", lambda case: 2 * case.pairs),
}
"""Label of each scale's axis, and a case's place on it."""


def drawn(theme: Mapping[str, Any]) -> bytes:
    """Return the figure as SVG; equal results give equal bytes."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with applied():
        # Text stays text, which makes the file small; the viewer has some font of that family.
        mpl.rcParams.update({"svg.fonttype": "none", "font.family": "DejaVu Sans"})
        figure = Figure(figsize=SIZE_IN)
        FigureCanvasAgg(figure)
        panels = list(figure.subplots(2, 3).flat)
        for panel, (scale, rows) in zip(panels, theme["scales"].items(), strict=False):
            _draw(panel, scale, rows)
        for panel in panels[len(theme["scales"]) :]:
            panel.set_axis_off()
        data = io.BytesIO()
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return data.getvalue()


def _draw(panel: Axes, scale: str, rows: list[Mapping[str, Any]]) -> None:
    cases: dict[str, Case] = {case.name: case for case in SCALES[scale]}
    label, place = AXES[scale]
    x = [place(cases[row["case"]]) for row in rows]
    middle = [row["ours_s"]["median"] for row in rows]
    low = [value - row["ours_s"]["min"] for value, row in zip(middle, rows, strict=True)]
    high = [row["ours_s"]["max"] - value for value, row in zip(middle, rows, strict=True)]
    style = LINES[0]
    panel.errorbar(x, middle, (low, high), color=style.color, marker=style.marker, capsize=2)
    panel.set_xscale("log")
    panel.minorticks_off()
    panel.set_ylim(bottom=0)
    panel.set_xlabel(label)
    panel.set_ylabel("wall time in s")
