"""Leaves so much of a trace as a picture can show: a bin is less than a pixel wide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from results.samples.downsample import min_max_indices
from results.traces.pictures.time_sequence import Spans

_SHARE = 1e-3
"""Spans of a bin that are closer than this part of the picture's height are one."""

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
    time_s: npt.NDArray[np.float64],
    columns: Sequence[npt.NDArray[np.float64]],
    from_s: float,
    to_s: float,
    points: int,
) -> npt.NDArray[np.intp]:
    """Return indices of steps that show several columns in a part of the time.

    The last step before the part is there, too. Of more than ``points`` the extremes of equal parts
    are there, by each column.
    """
    first = max(int(np.searchsorted(time_s, from_s, side="right")) - 1, 0)
    last = int(np.searchsorted(time_s, to_s, side="right"))
    if last - first <= points:
        return np.arange(first, last)
    each = max(points // max(len(columns), 1), 3)
    found = [min_max_indices(column[first:last], each) for column in columns]
    return np.unique(np.concatenate([*found, [0, last - first - 1]])) + first
