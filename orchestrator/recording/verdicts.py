"""The verdict that a run's checks give."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.recording.model import Check, Verdict


def verdict_of(checks: Sequence[Check]) -> Verdict:
    """Return the verdict. Unfaithful: a check failed. Doubtful: one could not be measured."""
    if any(check.ok is False for check in checks):
        return "unfaithful"
    return "doubtful" if any(check.ok is None for check in checks) else "faithful"
