"""The measuring window: a named part of a run that gets metrics of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A named part of the simulated time, in seconds since the start of traffic.

    ``name`` is not empty and unique in its run.
    """

    name: str
    from_s: float
    to_s: float
