"""Leaves so much of a trace as a picture can show: a bin is less than a pixel wide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from results.samples.downsample import min_max_indices
from results.traces.pictures.time_sequence import Floats, Spans

_SHARE = 1e-3
"""Spans of a bin that are closer than this part of the picture's height are one."""

_COLUMNS = 600
"""Columns of an outline; one is at most a few pixels wide."""

_DIP_COLUMNS = 3
"""Dips that are no wider are not in an outline. The line would be as wide as the gap beside it."""

_APART = 2.0**46
"""More bytes than a connection sends in a trace; a few thousand times that is exact in floats."""


def merged(spans: Spans, from_s: float, to_s: float, bins: int) -> Spans:
    """Return the spans in a part of the time; if they are many, what they cover in each bin.

    More than ``bins`` spans become spans of all bytes that any of a bin has, at the bin's first
    moment. So each byte that is drawn without it is drawn with it, less than a bin away.
    """
    inside = spans.of((spans.time_s >= from_s) & (spans.time_s <= to_s))
    if len(inside.time_s) <= bins:
        return inside
    least, most = float(inside.first.min()), float(inside.end.max())
    number = np.minimum(np.floor((inside.time_s - from_s) / (to_s - from_s) * bins), bins - 1)
    order = np.lexsort((inside.first, number))
    time_s, bin_of = inside.time_s[order], number[order]
    first = inside.first[order] - least + bin_of * _APART
    reached = np.maximum.accumulate(inside.end[order] - least + bin_of * _APART)
    begins = np.ones(len(first), np.bool_)
    begins[1:] = first[1:] > reached[:-1] + (most - least) * _SHARE
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(first)) - 1
    back = least - bin_of[starts] * _APART
    times = np.minimum.reduceat(time_s, starts)
    made = Spans(times, first[starts] + back, reached[ends] + back)
    return made.of(np.argsort(made.time_s, kind="stable"))


def steps(
    time_s: Floats,
    columns: Sequence[Floats],
    from_s: float,
    to_s: float,
    points: int,
) -> npt.NDArray[np.intp]:
    """Return indices of steps that show several columns in a part of the time.

    The last step before the part is there, too. Of more than ``points`` the extremes of equal parts
    are there, by each column.
    """
    first, last = _part(time_s, from_s, to_s)
    if last - first <= points:
        return np.arange(first, last)
    each = max(points // max(len(columns), 1), 3)
    found = [min_max_indices(column[first:last], each) for column in columns]
    return np.unique(np.concatenate([*found, [0, last - first - 1]])) + first


def outline(time_s: Floats, values: Floats, from_s: float, to_s: float) -> tuple[Floats, Floats]:
    """Return steps, as times and values, that outline those in a part of the time from above.

    Few steps stay as they are. Of many it is the most of each of equal columns, where dips of less
    than a 200th of the time are filled. So a value that goes up and down with each packet gives
    a line, and no band. Peaks keep their height, and longer dips their depth.
    """
    first, last = _part(time_s, from_s, to_s)
    time_s, values = time_s[first:last], values[first:last]
    if len(time_s) <= _COLUMNS // 2:
        return time_s, values
    edges = np.linspace(max(from_s, float(time_s[0])), float(time_s[-1]), _COLUMNS + 1)
    begins = np.searchsorted(time_s, edges[:-1], side="right") - 1
    ends = np.searchsorted(time_s, edges[1:], side="left")
    pairs = np.column_stack([begins, ends]).ravel()
    most = np.maximum.reduceat(np.append(values, -np.inf), pairs)[::2]
    wider = sliding_window_view(
        np.pad(most, _DIP_COLUMNS, constant_values=-np.inf), _DIP_COLUMNS + 1
    ).max(axis=1)
    filled = sliding_window_view(wider, _DIP_COLUMNS + 1).min(axis=1)
    return edges, np.append(filled, filled[-1])


def _part(time_s: Floats, from_s: float, to_s: float) -> tuple[int, int]:
    """Return the indices of the steps in a part of the time, with the last one before it."""
    first = max(int(np.searchsorted(time_s, from_s, side="right")) - 1, 0)
    return first, int(np.searchsorted(time_s, to_s, side="right"))
