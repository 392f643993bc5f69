"""Duplication: how many packets more a duplicating channel sent than came to it."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import binomial
from orchestrator.recording import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each duplicating channel in use.

    netem decides over each packet twice: whether to send it twice, and whether to lose it. What is
    to be lost and sent twice is sent once, so only packets that are not lost become more.
    """
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        asked, samples = evidence.channel(name).duplication, evidence.samples(number)
        if queue.role != "delay" or not asked or not len(samples):
            continue
        packets, last = _came(evidence, name), samples[-1]
        if not packets:
            continue
        more = int(last["packets"] + last["backlog_packets"] + last["drops"]) - packets
        # Generously: netem does not count a loss of what it had duplicated.
        lost = int(2 * last["drops"] / (1 - asked))
        low = binomial(packets - lost, asked, CHANCE)[0]
        high = binomial(packets, asked, CHANCE)[1]
        yield Check(
            f"duplication {name}", "", asked, more / packets,
            max(asked - low / packets, high / packets - asked), low <= more <= high,
            f"{more} of {packets} packets, expected {low} to {high}",
        )  # fmt: skip


def _came(evidence: Evidence, channel: str) -> int:
    """Return the packets that came to a channel's netem: from its queue, else over its entry."""
    for number, queue in enumerate(evidence.queues):
        if f"{queue.link}:{queue.direction}" == channel and queue.role in ("queue", "policer"):
            samples = evidence.samples(number)
            return int(samples["packets"][-1]) if len(samples) else 0
    link_name, _, direction = channel.rpartition(":")
    names = [link.name for link in evidence.network.links]
    entry = f"wires/w{names.index(link_name)}{'a' if direction == 'forward' else 'b'}"
    return int(evidence.one("interfaces", at="end")["interfaces"][entry]["rx_packets"])
