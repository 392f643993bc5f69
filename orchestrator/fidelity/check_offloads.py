"""Segmentation offloads: off on every interface of the bed, before and after traffic."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: interfaces with TSO, GSO or GRO on at either time."""
    on: set[str] = set()
    count = 0
    for when in ("start", "end"):
        interfaces = evidence.one(facts.Interfaces, at=when)["interfaces"]
        count = len(interfaces)
        for name, state in interfaces.items():
            on |= {f"{offload} of {name}" for offload, value in state["offloads"].items() if value}
    detail = ", ".join(sorted(on)[:3]) if on else f"{count} interfaces"
    yield Check("offloads_on", "", 0, len(on), 0, not on, detail)
