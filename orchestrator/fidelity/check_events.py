"""Changes while traffic runs: whether all were applied, and at their times."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

TOLERANCE_S = 20e-6
"""In virtual time a call that fails costs a microsecond. Several traces apply one after another."""
REAL_TOLERANCE_S = 1e-3
"""In real time a step takes a wake-up and a few system calls."""
REROUTE_TOLERANCE_S = 1e-3
"""Open vSwitch is a separate program that reads the clock. In virtual time all switches have new
rules after about 50 us."""
REAL_REROUTE_TOLERANCE_S = 20e-3
"""In real time the messages to each switch also have to wake it up."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, where anything changes, the number of applied steps and the worst lateness."""
    for fact in evidence.all(facts.Timeline):
        due, done = fact["due"], fact["steps"]
        if not due:
            continue
        yield Check("events_applied", "", due, done, 0, done == due, "steps of the test bed")
        reroutes_ns = fact["late_ns"].get("route")
        late_ns = {
            kind: lateness_ns for kind, lateness_ns in fact["late_ns"].items() if kind != "route"
        }
        if late_ns:
            worst = max(late_ns, key=lambda kind: late_ns[kind])
            tolerance_s = REAL_TOLERANCE_S if evidence.real_time else TOLERANCE_S
            detail = f"latest: {worst}"
            yield _late(evidence, "event_lateness", late_ns[worst], tolerance_s, detail)
        if reroutes_ns is not None:
            detail = "until all switches had their rules"
            real_time = evidence.real_time
            tolerance_s = REAL_REROUTE_TOLERANCE_S if real_time else REROUTE_TOLERANCE_S
            yield _late(evidence, "reroute_lateness", reroutes_ns, tolerance_s, detail)


def _late(evidence: Evidence, name: str, late_ns: int, tolerance_s: float, detail: str) -> Check:
    late_s = late_ns / 1e9
    good = evidence.judge(late_s, tolerance_s, 3 * evidence.late_s)
    return Check(name, "s", 0.0, late_s, tolerance_s, good, detail)
