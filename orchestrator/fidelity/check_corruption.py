"""Corruption: how many packets the receivers' checksums found to be broken."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import binomial
from orchestrator.protocol import facts
from orchestrator.protocol.netem import CORRUPTION, threshold_chance
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""

LEAST_FOUND = 0.5
"""Of corrupted packets, the share that the hosts must find. No checksum covers the 14 bytes of the
Ethernet header (a fifth of an acknowledgement), and queues and losses behind may drop some."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check where channels corrupt packets: hidden corruption would be none at all.

    An offloaded checksum that the receiver takes for verified would hide it.
    """
    low = high = packets = 0
    expected = 0.0
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        for span in evidence.spans(number):
            asked = threshold_chance(span.settings.get(CORRUPTION, 0))
            if not asked:
                continue
            most = span.packets - span.drops
            # Whichever span those are of that are on their way at the end.
            carried = max(most - int(evidence.samples(number)["backlog_packets"][-1]), 0)
            packets += carried
            expected += asked * carried
            low += binomial(carried, asked * LEAST_FOUND, CHANCE)[0]
            high += corrupted(most, asked)
    if not packets:
        return
    found = sum(evidence.one(facts.Checksums, at="end")["errors"].values())
    yield Check(
        "corruption", "", expected / packets, found / packets,
        max(expected - low, high - expected) / packets, low <= found <= high,
        f"checksums found {found} of {packets} packets broken, expected {low} to {high}",
    )  # fmt: skip


def corrupted(packets: int, probability: float) -> int:
    """Return how many of so many packets are corrupted at most."""
    return binomial(packets, probability, CHANCE)[1]
