"""Congestion control: what the kernel reports for each sender's socket."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports.outcomes import ENDED
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each requested congestion control; a failed one names the first flow."""
    by_kind: dict[str, list[tuple[str, str | None]]] = {}
    for flow in evidence.flows:
        if flow.congestion_asked is None:
            continue  # UDP
        if flow.congestion_control is None and flow.outcome != ENDED:
            continue  # it never had a socket that was sampled, which is no fault
        by_kind.setdefault(flow.congestion_asked, []).append((flow.name, flow.congestion_control))
    for kind, flows in by_kind.items():
        other = next(((name, has) for name, has in flows if has != kind), None)
        name = f"congestion_control {kind}"
        if other is None:
            yield Check(name, "", kind, kind, None, True, f"{len(flows)} flows")
        elif other[1] is None:
            yield Check(name, "", kind, None, None, None, f"flow {other[0]} never connected")
        else:
            yield Check(name, "", kind, other[1], None, False, f"flow {other[0]}")
