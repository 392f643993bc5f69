"""Clocks of the machines of a lab: how far apart their samples of the same time can be."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol import facts
from orchestrator.recording.model import Check

TOLERANCE_S = 5e-3
"""A twentieth of the 100 ms at which every flow's ends are sampled whatever the scenario says."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check where there are several machines: the clock that may be farthest off.

    Each machine begins when its corrected clock says so, and goes on by its own: off by what the
    correction is uncertain, and by what the clock has drifted away until the end.
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
