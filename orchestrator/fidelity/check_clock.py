"""Clocks of a lab's machines: how far apart samples with equal times may have been taken."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

TOLERANCE_S = 5e-3
"""A twentieth of 100 ms, the period at which both ends of every flow are always sampled."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check on a lab, of the clock with the largest possible error.

    Each machine starts by its corrected clock and then runs by its own clock. The error is the
    uncertainty of the correction plus the drift until the end.
    """
    clocks = evidence.all(facts.Clock)
    if not clocks:
        return
    worst = max(clocks, key=lambda clock: _off_ns(clock))
    off_s = _off_ns(worst) / 1e9
    detail = (
        f"{worst['host']}: read to within {worst['uncertainty_ns'] / 1e6:.3g} ms, then drifted by "
        f"{worst['drift_ns'] / 1e6:.3g} ms in {worst['between_ns'] / 1e9:.1f} s"
    )
    good = off_s <= TOLERANCE_S
    yield Check("clock_agreement", "s", 0.0, off_s, TOLERANCE_S, good, detail)


def _off_ns(clock: facts.Clock) -> int:
    return clock["uncertainty_ns"] + abs(clock["drift_ns"])
