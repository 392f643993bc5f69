"""A metric over two axes, as a map of colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, PrivateAttr

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from orchestrator.units import quoted_list
from results.experiment import coverage
from results.experiment.model import HasInterval
from results.experiment.names import MetricName
from results.figures import _axes, _labels, _series, _style
from results.figures._canvas import Canvas
from results.figures._spec import SINGLE, ExperimentFigure
from results.layout.arrangement import PARTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

HEAT_SHARE = 0.65
"""About the part of the figure's width that the cells have, beside labels and the colour bar."""

_NAME_IN = 0.7
"""Width of a line of a name beside the cells."""

_CELL_IN = 0.26
"""Least width of a cell that has its value written in it."""


class HeatmapFigure(ExperimentFigure):
    """Means over two axes of the matrix, as colours and numbers, of one flow entry or of runs."""

    kind: Literal["heatmap"] = Field(description="means over two axes")
    metric: MetricName = Field(description="the metric, such as `jain_index`")
    by: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(
        description="the horizontal and the vertical axis, by their paths or the ends of them"
    )

    _widest: str = PrivateAttr(default="")
    _part: str = PrivateAttr(default="")

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the two axes, and those of conditions."""
        yield from super().named_axes()
        yield from ((("by", index), axis) for index, axis in enumerate(self.by))

    def caption(self, study: Study) -> str:
        """Return the metric, what it is shown of, and how wide its intervals are."""
        title = _labels.metric_title(self.metric)
        if not self._widest:
            return f"{title}. {SINGLE}.{self._part}"
        return f"{title}: means over {study.repetitions()}. {self._widest}{self._part}"

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a cell for each pair of values."""
        summary = self.summary(study, self.metric)
        plotted = _series.cells(summary, [self.metric], self.of)
        across, up = (_series.axis_named(summary, name) for name in self.by)
        if across.path == up.path:
            raise UsageError(f"by: {self.by[0]} and {self.by[1]} are the same axis")
        plotted = study.placed(plotted, across, up)
        across, up = (axis.with_values(_series.values_on(axis, plotted)) for axis in (across, up))
        rest = _series.series(summary, plotted, [across, up], {})
        if len(rest) > 1:
            names = quoted_list(series.name for series in rest)
            raise UsageError(f"a heat map shows one of {names}: keep one by flow, where or `of`")
        means = np.full((len(up.values), len(across.values)), np.nan)
        parts = np.zeros(means.shape, bool)
        for cell in plotted:
            x, y = _series.place(across, cell), _series.place(up, cell)
            if x is not None and y is not None:
                means[y, x] = cell.metrics[self.metric].mean
                parts[y, x] = bool(coverage.words(cell.metrics[self.metric]))
        known = means[np.isfinite(means)].tolist()
        divisor, unit = _labels.scale(_labels.metric_unit(self.metric), known)
        self._widest = _widest([cell.metrics[self.metric] for cell in plotted], divisor, unit)
        panel = canvas.panel()
        image = panel.imshow(means / divisor, cmap=_style.MAP, origin="lower", aspect="auto")
        panel.grid(visible=False)
        for which, axis, label in (("x", across, self.x_label), ("y", up, self.y_label)):
            texts, title = _labels.tick_labels(axis)
            shown = [self.names.get(text, text) for text in texts]
            _name_values(canvas, panel, which, shown)
            (panel.set_xlabel if which == "x" else panel.set_ylabel)(
                label if label is not None else title
            )
        bar = canvas.figure.colorbar(image, ax=panel)
        bar.set_label(_labels.with_unit(_labels.metric_title(self.metric), unit))
        bar.outline.set_linewidth(0.6)
        if canvas.width_in * HEAT_SHARE / len(across.values) >= _CELL_IN:
            _write_values(panel, image, means / divisor, parts)
            self._part = f" {PARTIAL[0]}: {PARTIAL[1]}." if parts.any() else ""
            if parts.any() and not study.has_caption:
                study.note(f"{PARTIAL[0]}: {parts.sum()} of {len(known)} means: {PARTIAL[1]}")


def _name_values(canvas: Canvas, panel: Axes, which: str, names: Sequence[str]) -> None:
    if which == "x":
        canvas.grow(_axes.name_ticks(panel, names, HEAT_SHARE * canvas.width_in))
    else:
        folded = [_axes.folded_name(name, _NAME_IN) for name in names]
        panel.set_yticks(range(len(names)), labels=folded)
    panel.tick_params(axis=which, length=0)  # type: ignore[arg-type]


def _write_values(panel: Axes, image: Any, means: Any, parts: Any) -> None:
    """Write each mean into its cell, with three digits and the sign of a part."""
    for (y, x), mean in np.ndenumerate(means):
        if np.isfinite(mean):
            dark = image.norm(mean) < 0.5
            sign = PARTIAL[0] if parts[y, x] else ""
            panel.text(
                x, y, _digits(mean) + sign, ha="center", va="center", fontsize=6,
                color="white" if dark else "black",
            )  # fmt: skip


def _widest(metrics: Sequence[HasInterval], divisor: float, unit: str) -> str:
    """Return a sentence on the widest interval; empty if no value has one."""
    halves = [
        (metric.high - metric.low) / 2
        for metric in metrics
        if metric.low is not None and metric.high is not None
    ]
    if not halves:
        return ""
    half = _digits(max(halves) / divisor)
    return (
        f"The widest 95% interval is ± {half}{f' {unit}' if unit else ''} (Student's t over runs)."
    )


def _digits(mean: float) -> str:
    """Return a mean with three digits, also of 1 (1.00) and of 1234 (1234)."""
    return f"{mean:.0f}" if abs(mean) >= 100 else f"{mean:#.3g}"
