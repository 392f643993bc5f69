"""Corruption: how many packets had wrong checksums at the receivers."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import binomial
from orchestrator.protocol.links.netem import CORRUPTION, threshold_chance
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""

LEAST_FOUND = 0.5
"""The share of corrupted packets that the hosts must find. No checksum covers the 14 bytes of the
Ethernet header, a fifth of an acknowledgement. Later queues and losses may drop some packets."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check where channels corrupt packets.

    If receivers took an offloaded checksum as verified, the corruption would have no effect.
    """
    low = high = packets = 0
    expected = 0.0
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        for span in evidence.spans(number):
            requested = threshold_chance(span.settings.get(CORRUPTION, 0))
            if not requested:
                continue
            most = span.packets - span.drops
            # Packets in flight at the end may belong to any span, so they are left out of each.
            carried = max(most - int(evidence.samples(number)["backlog_packets"][-1]), 0)
            packets += carried
            expected += requested * carried
            low += binomial(carried, requested * LEAST_FOUND, CHANCE)[0]
            high += corrupted(most, requested)
    if not packets:
        return
    broken = sum(evidence.one(facts.Checksums, at="end")["errors"].values())
    yield Check(
        "corruption", "", expected / packets, broken / packets,
        max(expected - low, high - expected) / packets, low <= broken <= high,
        f"checksums found {broken} of {packets} packets broken, expected {low} to {high}",
    )  # fmt: skip


def corrupted(packets: int, probability: float) -> int:
    """Return the largest plausible number of corrupted packets."""
    return binomial(packets, probability, CHANCE)[1]
