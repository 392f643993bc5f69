"""Random loss: what a lossy channel dropped, against the probability that was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each lossy channel in use, and one for all that should lose nothing."""
    lossless_drops = lossless_packets = 0
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        channel = evidence.channel(f"{queue.link}:{queue.direction}")
        samples = evidence.samples(number)
        dropped = int(samples["drops"][-1]) if len(samples) else 0
        offered = dropped + (int(samples["packets"][-1] + samples["backlog_packets"][-1]))
        if channel.loss > 0 and offered > 0:
            yield _lossy(f"loss {queue.link}:{queue.direction}", channel.loss, dropped, offered)
        elif channel.loss == 0:
            lossless_drops += dropped
            lossless_packets += offered
    if lossless_packets:
        measured = lossless_drops / lossless_packets
        good = lossless_drops == 0
        detail = f"{lossless_drops} of {lossless_packets} packets on channels without loss"
        yield Check("loss elsewhere", "", 0.0, measured, 0.0, good, detail)


def _lossy(name: str, asked: float, dropped: int, offered: int) -> Check:
    from scipy.special import bdtrik  # slow to import, and few runs need it

    low = max(float(bdtrik(CHANCE, offered, asked)), 0.0)
    high = float(bdtrik(1 - CHANCE, offered, asked)) + 1
    tolerance = max(asked - low / offered, high / offered - asked)
    good = low <= dropped <= high
    detail = f"{dropped} of {offered} packets, expected {low:.0f} to {high:.0f}"
    return Check(name, "", asked, dropped / offered, tolerance, good, detail)
