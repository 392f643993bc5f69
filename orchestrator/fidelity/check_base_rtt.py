"""Base RTT: a small probe over the idle network takes as long as the delays add up to."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check

TOLERANCE_S = 20e-6
"""In virtual time a probe's own cost is about 3 us: clock readings at 256 ns and scheduling."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: the pair of hosts whose probe was farthest off."""
    trips = evidence.all("round_trip")
    if not trips:
        return
    lost = [trip for trip in trips if trip["measured_ns"] is None]
    worst = max(
        (trip for trip in trips if trip["measured_ns"] is not None),
        key=lambda trip: abs(trip["measured_ns"] - trip["expected_ns"]),
        default=None,
    )
    if worst is None or lost:
        pair = lost[0]
        yield Check(
            "base_rtt", "s", pair["expected_ns"] / 1e9, None, TOLERANCE_S, False,
            f"no probe from {pair['source']} to {pair['sink']} came back",
        )  # fmt: skip
        return
    off_s = abs(worst["measured_ns"] - worst["expected_ns"]) / 1e9
    yield Check(
        "base_rtt", "s", worst["expected_ns"] / 1e9, worst["measured_ns"] / 1e9, TOLERANCE_S,
        off_s <= TOLERANCE_S, f"{worst['source']} to {worst['sink']}, farthest off of {len(trips)}",
    )  # fmt: skip
