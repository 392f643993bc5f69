"""Reordering: how many packets skipped the delay of a reordering channel."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence, NetemSpan
from orchestrator.intervals import renewals
from orchestrator.protocol.links.netem import REORDERING, REORDERING_GAP, threshold_chance
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each reordering channel in use.

    netem counts packets that it sends at once as requeued. After each change of its settings it
    begins to count the packets of a gap again, so each change may cost one. If the reordering
    changes, each setting is judged by itself.
    """
    changes: dict[str, int] = {}
    for fact in evidence.all(facts.Timeline):
        changes |= fact["netem_changes"]
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        name = f"{queue.link}:{queue.direction}"
        spans = evidence.spans(number)
        if any(span.settings.get(REORDERING) for span in spans):
            yield _reordered(name, spans, changes.get(name, 0))


def _reordered(name: str, spans: list[NetemSpan], changes: int) -> Check:
    packets = skipped = low = high = 0
    expected, good = 0.0, True
    for span in spans:
        gap = span.settings.get(REORDERING_GAP, 0)
        chance = threshold_chance(span.settings.get(REORDERING, 0))
        carried = span.packets - span.drops
        least, most = renewals(carried, gap, chance, CHANCE / len(spans)) if gap else (0, 0)
        least = max(least - changes, 0) if gap > 1 else least
        good = good and least <= span.ahead <= most
        expected += carried / (gap - 1 + 1 / chance) if gap and chance else 0.0
        packets, skipped, low, high = (
            packets + carried,
            skipped + span.ahead,
            low + least,
            high + most,
        )
    detail = f"{skipped} of {packets} packets, expected {low} to {high}"
    if len(spans) > 1:
        detail += f", each of {len(spans)} settings by itself"
    share = packets or 1
    requested = expected / share
    return Check(
        f"reordering {name}", "", requested, skipped / share,
        max(requested - low / share, high / share - requested), good, detail,
    )  # fmt: skip
