"""Warnings of the guest's kernel while traffic ran."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check of a run in a guest: the number of warnings that its kernel printed.

    By WARN() and BUG() the kernel says that what it relies on does not hold. So the run is in doubt
    and not unfaithful: the emulation may still have done what was requested.
    """
    if evidence.kernel_warnings is None:
        return
    count, first = evidence.kernel_warnings
    yield Check(
        "kernel_warnings", "warnings", 0.0, float(count), 0.0, None if count else True,
        f"the first one: {first}" if count else "",
    )  # fmt: skip
