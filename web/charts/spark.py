"""A small picture of a metric against an axis, for the list of experiments.

It is an image of its own, so it knows no style sheet: its colours show on light and on dark.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from results.experiment.model import Summary
from results.layout.series import cells, known
from results.matrix.axes import Axis, key
from web.charts import scales

WIDTH, HEIGHT, MARGIN = 120, 30, 3
MOST_LINES = 6
_COLOURS = ("#2f86c8", "#d0691c", "#2a9a74", "#b8549a", "#9a8020", "#7d8790")


def svg(summary: Summary, metric: str, axis: Axis | None, log_x: bool) -> str:
    """Return the picture of a metric; it is empty without two values on an axis of numbers."""
    lines = "".join(
        f'<polyline points={quoteattr(points)} fill="none" stroke="{colour}" stroke-width="1.6"/>'
        for points, colour in zip(_lines(summary, metric, axis, log_x), _COLOURS, strict=False)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{lines}</svg>\n'
    )


def _lines(summary: Summary, metric: str, axis: Axis | None, log_x: bool) -> list[str]:
    if axis is None or axis.numbers is None:
        return []
    numbers = dict(zip(map(key, axis.values), axis.numbers, strict=True))
    series: dict[str, list[tuple[float, float]]] = {}
    for cell in cells(summary, [metric]):
        if axis.path in cell.variant:
            others = {path: setting for path, setting in cell.variant.items() if path != axis.path}
            number_on_axis = numbers[key(cell.variant[axis.path])]
            mean = known(cell.metrics[metric])
            series.setdefault(key([cell.subject, others]), []).append((number_on_axis, mean))
    kept = [points for points in list(series.values())[:MOST_LINES] if len(points) > 1]
    everything = [point for points in kept for point in points]
    if not everything:
        return []
    across = scales.over([x for x, _y in everything], log=log_x)
    up = scales.over([y for _x, y in everything], from_zero=True)
    return [
        " ".join(
            f"{MARGIN + across.place(x) * (WIDTH - 2 * MARGIN):.1f},"
            f"{HEIGHT - MARGIN - up.place(y) * (HEIGHT - 2 * MARGIN):.1f}"
            for x, y in sorted(points)
        )
        for points in kept
    ]
