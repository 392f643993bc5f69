"""Packet spraying: how many packets each of some equal links got."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import binomial
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability for each link, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each choice of a switch with traffic: the link that is farthest off.

    Each packet takes one of n links with the probability 1 / n, so a link's packets are binomial.
    """
    for fact in evidence.all(facts.Sprayed):
        packets = fact["packets"]
        total, share = sum(packets.values()), 1 / len(packets)
        if not total:
            continue
        low, high = binomial(total, share, CHANCE)
        link = max(packets, key=lambda name: abs(packets[name] - share * total))
        good = low <= packets[link] <= high
        tolerance = max(share - low / total, high / total - share)
        detail = f"{packets[link]} of {total} packets over {len(packets)} links, expected {low} to "
        yield Check(
            f"spraying {fact['switch']} {link}", "", share, packets[link] / total, tolerance, good,
            f"{detail}{high}",
        )  # fmt: skip
