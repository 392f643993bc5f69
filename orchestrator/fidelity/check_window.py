"""Window: what receivers told that were to tell no more than so much."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each limit, of the flow that was told the largest window under it."""
    by_limit: dict[int, list[tuple[int, str]]] = {}
    for flow, (asked, told) in evidence.windows.items():
        by_limit.setdefault(asked, []).append((told, flow))
    for asked, found in by_limit.items():
        told, flow = max(found)
        detail = f"flow {flow}; {len(found)} flows have the limit"
        yield Check(f"receive_window {asked}", "bytes", asked, told, 0.0, told <= asked, detail)
