"""Duplication: how many more packets a duplicating channel sent than it received."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence, NetemSpan
from orchestrator.intervals import binomial
from orchestrator.protocol.links.netem import DUPLICATION, threshold_chance
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each duplicating channel in use.

    netem decides for each packet whether to duplicate it and whether to lose it. A packet with both
    is sent once, so only packets that are not lost are duplicated. If the duplication changes
    during the run, only the decisions under each value are known. The packets that came are then
    estimated: the decisions divided by 1 + the probability.
    """
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        if queue.role != "delay":
            continue
        spans = evidence.spans(number)
        packets = _came(evidence, name) if any(map(_chance, spans)) else 0
        packets = max(packets - evidence.lost_by_number(name), 0)
        if not packets:
            continue
        spans = _since_traffic_began(spans, evidence.samples(number))
        more = sum(span.packets for span in spans) - packets
        low = high = 0
        expected = 0.0
        for span in spans:
            chance = _chance(span)
            came = packets if len(spans) == 1 else round(span.packets / (1 + chance))
            # An upper bound, because netem does not count the loss of a packet that it duplicated.
            lost = int(2 * span.drops / (1 - chance))
            low += binomial(came - lost, chance, CHANCE / len(spans))[0]
            high += binomial(came, chance, CHANCE / len(spans))[1]
            expected += came * chance
        requested = expected / packets
        yield Check(
            f"duplication {name}", "", requested, more / packets,
            max(requested - low / packets, high / packets - requested), low <= more <= high,
            f"{more} of {packets} packets, expected {low} to {high}",
        )  # fmt: skip


def _chance(span: NetemSpan) -> float:
    return threshold_chance(span.settings.get(DUPLICATION, 0))


def _since_traffic_began(spans: list[NetemSpan], samples: npt.NDArray[np.void]) -> list[NetemSpan]:
    """Return the spans without what netem had decided before: probes of queues bypass it."""
    before = sum(int(samples[name][0]) for name in ("packets", "backlog_packets", "drops"))
    first, *others = spans
    return [dataclasses.replace(first, packets=first.packets - before), *others]


def _came(evidence: Evidence, channel: str) -> int:
    """Return the packets that came to a channel's netem while traffic ran.

    They came from its queue or policer, or by its interface.
    """
    for number, queue in enumerate(evidence.queues):
        if f"{queue.link}:{queue.direction}" == channel and queue.role in ("queue", "policer"):
            samples = evidence.samples(number)
            return int(samples["packets"][-1] - samples["packets"][0]) if len(samples) else 0
    link_name, _, direction = channel.rpartition(":")
    if evidence.network.begins_at(link_name, direction) in evidence.network.tso_hosts:
        # What comes in are super-packets, so the transmitted frames are counted.
        first, last = (
            evidence.one(facts.Packets, at=when)["channels"][channel]["queue"][0]
            for when in ("start", "end")
        )
        return last - first
    names = [link.name for link in evidence.network.links]
    entry = f"wires/w{names.index(link_name)}{'a' if direction == 'forward' else 'b'}"
    start, end = (
        evidence.one(facts.Interfaces, at=when)["interfaces"][entry]["rx_packets"]
        for when in ("start", "end")
    )
    return end - start
