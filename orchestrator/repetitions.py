"""The rule for the number of repetitions: repeat until a mean is known."""

from __future__ import annotations

from dataclasses import dataclass

MAX_RUNS = 10_000
"""The most runs of a scenario, so also the most repetitions of a variant."""


@dataclass(frozen=True)
class RepetitionRule:
    """Which mean must be known, how well, and the least and the most number of repetitions.

    ``flow`` is the flow entry whose metric it is, None for the run's own. ``window`` is None for
    the whole run after the warm-up. ``interval`` is half the width of the 95% interval, as a share
    of the mean.
    """

    metric: str
    flow: str | None
    window: str | None
    interval: float
    least: int
    most: int
