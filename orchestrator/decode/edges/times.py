"""When a test bed reads everything: at the edges of windows, at the start and at the end."""

from __future__ import annotations

from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.units import nanoseconds


def edges_ns(run: RunSpec) -> list[int]:
    """Return the times of a run's edges since the start of traffic, each once and in order."""
    edges_s = (run.warmup_s, *(edge for w in run.windows for edge in (w.from_s, w.to_s)))
    return sorted({0, *map(nanoseconds, edges_s), nanoseconds(run.duration_s)})
