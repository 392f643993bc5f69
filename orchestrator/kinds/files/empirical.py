"""Distributions that are given as points of their cumulative distribution function (CDF).

A file has a line for each point: a size in bytes, and the share of flows that are not larger. The
share is in 0..1 or in percent. This is the form of the generators of pFabric and HPCC. Between two
points the CDF is a straight line, as there.
"""

from __future__ import annotations

import functools
import itertools
import re

from pydantic import ValidationInfo

from orchestrator.kinds.files.known_sizes import KNOWN, Points
from orchestrator.kinds.files.named_files import named_file

MOST_BYTES = 1_000_000
MOST_POINTS = 10_000
MOST_SIZE_BYTES = 2**40
_COMMENT = re.compile(rb"#.*")
_NUMBER = re.compile(rb"[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")


def points_of(given: str, info: ValidationInfo) -> tuple[str, Points, str | None]:
    """Return (name or place, points, SHA-256 of a file) of a known distribution or of a file.

    Raises:
        ValueError: there is neither, or the file is malformed; with its line.
    """
    if given in KNOWN:
        return given, KNOWN[given], None
    try:
        file = named_file(given, info, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{error}; known distributions: {', '.join(KNOWN)}") from None
    return file.place, _parsed(given, file.content), file.sha256


def tail(points: Points, least: float) -> float:
    """Return the probability that a drawn value is at least ``least``."""
    if least <= points[0][0]:
        return 1.0
    for (low, below), (high, above) in itertools.pairwise(points):
        if least <= high:
            return 1 - (below + (above - below) * (least - low) / (high - low))
    return 0.0


@functools.lru_cache(maxsize=64)
def _parsed(path: str, content: bytes) -> Points:
    """Return the points of a file; errors name its ``path`` and line."""
    points: list[tuple[float, float]] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        words = _COMMENT.sub(b"", line).replace(b",", b" ").split()
        if not words:
            continue
        if len(words) != 2 or not all(_NUMBER.fullmatch(word) for word in words):
            raise ValueError(f"{path}:{number}: must be a number of bytes and a share")
        size_bytes, share = map(float, words)
        if points and (size_bytes < points[-1][0] or share < points[-1][1]):
            raise ValueError(f"{path}:{number}: a CDF does not fall, in bytes and in its share")
        if size_bytes > MOST_SIZE_BYTES:
            raise ValueError(f"{path}:{number}: must be {MOST_SIZE_BYTES} bytes at most")
        points.append((size_bytes, share))
        if len(points) > MOST_POINTS:
            raise ValueError(f"{path}:{number}: more than {MOST_POINTS} points")
    whole = points[-1][1] if points else 0.0
    if whole not in (1.0, 100.0):
        raise ValueError(f"{path}: the last share must be 1, or 100 in percent, not {whole:g}")
    if points[-1][0] < 1:
        raise ValueError(f"{path}: the largest size must be a byte or more")
    merged: dict[float, float] = {}
    for size_bytes, share in points:  # of equal sizes the last share counts: it is a jump
        merged[size_bytes] = share / whole
    return tuple(merged.items())
