"""Settings of every channel at the end: still those that were set and read back at the start."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: channels whose rate, queue, delay or loss another hand has changed."""
    start = evidence.one("channels", at="start")["channels"]
    end = evidence.one("channels", at="end")["channels"]
    changed = sorted(name for name in start if start[name] != end.get(name))
    detail = ", ".join(changed[:3]) if changed else f"{len(start)} channels"
    yield Check("settings_changed", "", 0, len(changed), 0, not changed, detail)
