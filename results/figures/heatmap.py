"""A metric over two axes, as a map of colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from results.figures import _labels, _series, _style
from results.figures._canvas import Canvas
from results.figures._spec import MetricName, OfExperiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

_CELL_IN = 0.26
"""Least width of a cell that has its value written in it."""


class HeatmapFigure(OfExperiment):
    """Means over two axes of the matrix, as colours and numbers, of one flow entry or of runs."""

    kind: Literal["heatmap"] = Field(description="means over two axes")
    metric: MetricName = Field(description="the metric, such as `jain_index`")
    by: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(
        description="the horizontal and the vertical axis, by their paths or the ends of them"
    )

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the two axes, and those of conditions."""
        yield from super().named_axes()
        yield from ((("by", index), axis) for index, axis in enumerate(self.by))

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a cell for each pair of values."""
        import numpy as np

        document = self.summary(study, self.metric)
        found = _series.cells(document, [self.metric], self.of)
        across, up = (_series.axis_named(document, name) for name in self.by)
        if across["path"] == up["path"]:
            raise UsageError(f"by: {self.by[0]} and {self.by[1]} are the same axis")
        rest = _series.series(document, found, [across, up], {})
        if len(rest) > 1:
            names = ", ".join(one.name for one in rest)
            raise UsageError(f"a heat map shows one of {names}: keep one by flow, where or `of`")
        means = np.full((len(up["values"]), len(across["values"])), np.nan)
        for cell in found:
            x, y = _series.place(across, cell), _series.place(up, cell)
            if x is not None and y is not None:
                means[y, x] = cell.metrics[self.metric]["mean"]
        known = means[np.isfinite(means)].tolist()
        divisor, unit = _labels.scale(_labels.metric_unit(self.metric), known)
        panel = canvas.panel()
        image = panel.imshow(means / divisor, cmap=_style.MAP, origin="lower", aspect="auto")
        panel.grid(visible=False)
        for which, axis, label in (("x", across, self.x_label), ("y", up, self.y_label)):
            _name_values(panel, which, axis, label)
        bar = canvas.figure.colorbar(image, ax=panel)
        bar.set_label(_labels.with_unit(_labels.metric_title(self.metric), unit))
        bar.outline.set_linewidth(0.6)
        if canvas.width_in * 0.65 / len(across["values"]) >= _CELL_IN:
            _write_values(panel, image, means / divisor)


def _name_values(panel: Axes, which: str, axis: _series.Axis, label: str | None) -> None:
    texts, title = _labels.tick_labels(axis)
    set_ticks = panel.set_xticks if which == "x" else panel.set_yticks
    set_ticks(range(len(texts)), labels=texts)
    panel.tick_params(axis=which, length=0)  # type: ignore[arg-type]
    (panel.set_xlabel if which == "x" else panel.set_ylabel)(label if label is not None else title)


def _write_values(panel: Axes, image: Any, means: Any) -> None:
    """Write each mean into its cell, with three digits, in black or white."""
    import numpy as np

    for (y, x), mean in np.ndenumerate(means):
        if np.isfinite(mean):
            dark = image.norm(mean) < 0.5
            panel.text(
                x, y, f"{mean:.3g}", ha="center", va="center", fontsize=6,
                color="white" if dark else "black",
            )  # fmt: skip
