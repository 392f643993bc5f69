"""Drops anywhere but at the queues where drops are expected, and before the queues at all."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: packets dropped outside the bottlenecks, by queues, devices and the CPU."""
    places: dict[str, int] = {}
    for number, queue in enumerate(evidence.queues):
        channel = evidence.channel(f"{queue.link}:{queue.direction}")
        # A delay line with loss drops on purpose; its check is the measured loss.
        expected = channel.judged if queue.role == "queue" else channel.loss > 0
        if not expected:
            places[queue.name] = _growth(evidence, number)
    start, end = evidence.one("interfaces", at="start"), evidence.one("interfaces", at="end")
    for name, after in end["interfaces"].items():
        before = start["interfaces"].get(name, {"rx_dropped": 0, "tx_dropped": 0})
        places[name] = sum(after[key] - before[key] for key in ("rx_dropped", "tx_dropped"))
    places["per-CPU backlog"] = (
        evidence.one("softnet", at="end")["drops"] - evidence.one("softnet", at="start")["drops"]
    )
    total = sum(places.values())
    worst = max(places, key=lambda place: places[place])
    detail = f"most at {worst}: {places[worst]}" if total else f"{len(places)} places"
    yield Check("drops_outside_bottleneck", "packets", 0, total, 0, total == 0, detail)


def _growth(evidence: Evidence, queue: int) -> int:
    """Return the drops since the bed was built: probes may not be dropped there either."""
    samples = evidence.samples(queue)
    return int(samples["drops"][-1]) if len(samples) else 0
