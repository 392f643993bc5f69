"""Interrupts of network cards: no more of them than their moderation lets through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

_LATER = 1.01
"""The last counters are read when all has been sampled, which may take a few milliseconds."""


class _Card(NamedTuple):
    name: str
    interrupts: int
    most: int
    frames: int
    drops: int


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check of all network cards that moderate interrupts: the one with most of them.

    An interrupt comes a time after the first frame that waits. So two are at least that time apart,
    but for those that a number of frames raised.

    Raises:
        LookupError: the counters of a card are missing.
    """
    cards = list(_cards(evidence))
    if not cards:
        return
    worst = max(cards, key=lambda card: card.interrupts / card.most)
    frames, interrupts = sum(card.frames for card in cards), sum(card.interrupts for card in cards)
    detail = f"most at {worst.name}; {frames} frames in {interrupts} interrupts of all cards"
    detail += f", {sum(card.drops for card in cards)} dropped at full rings"
    good = worst.interrupts <= worst.most
    yield Check("interrupts", "", worst.most, worst.interrupts, 0, good, detail)


def _cards(evidence: Evidence) -> Iterable[_Card]:
    if evidence.plan is None:
        return
    span_ns = evidence.plan["sampling"]["duration_ns"] * _LATER
    for link in evidence.network.links:
        for hop in link.hops:
            ring = hop.channel.ring
            if ring is None:
                continue
            start, end = (
                evidence.one(facts.Packets, at=at)["channels"][hop.name] for at in ("start", "end")
            )
            delivered, dropped = (end["ring"][n] - start["ring"][n] for n in (0, 1))
            by_number = delivered // ring.frames if ring.frames else 0
            most = int(span_ns // ring.coalesce_ns) + by_number + 1
            counted = end["interrupts"] - start["interrupts"]
            yield _Card(hop.name, counted, most, delivered, dropped)
