"""Reordering: how many packets skipped the delay of a channel that lets some do so."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import renewals
from orchestrator.recording import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each reordering channel in use.

    netem counts as requeued what it sends at once. It counts the packets of a gap anew after every
    change of its settings, so each change may cost one.
    """
    changes: dict[str, int] = {}
    for fact in evidence.all("timeline"):
        changes |= fact["netem_changes"]
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        model, samples = evidence.channel(name).reordering, evidence.samples(number)
        if queue.role != "delay" or model is None or not len(samples):
            continue
        packets = int(samples["packets"][-1] + samples["backlog_packets"][-1])
        skipped = int(samples["requeues"][-1])
        if not packets:
            continue
        low, high = renewals(packets, model.gap, model.probability, CHANCE)
        low -= changes.get(name, 0) if model.gap > 1 else 0
        asked = 1 / (model.gap - 1 + 1 / model.probability) if model.probability else 0.0
        yield Check(
            f"reordering {name}", "", asked, skipped / packets,
            max(asked - low / packets, high / packets - asked), low <= skipped <= high,
            f"{skipped} of {packets} packets, expected {max(low, 0)} to {high}",
        )  # fmt: skip
