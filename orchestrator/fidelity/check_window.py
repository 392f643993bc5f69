"""Receive window: the largest window that receivers with a limit advertised."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each limit, of the flow whose receiver advertised the largest window."""
    by_limit: dict[int, list[tuple[int, str]]] = {}
    for flow, (requested, advertised) in evidence.windows.items():
        by_limit.setdefault(requested, []).append((advertised, flow))
    for requested, found in by_limit.items():
        advertised, flow = max(found)
        detail = f"flow {flow}; {len(found)} flows have the limit"
        yield Check(
            f"receive_window {requested}",
            "bytes",
            requested,
            advertised,
            0.0,
            advertised <= requested,
            detail,
        )
