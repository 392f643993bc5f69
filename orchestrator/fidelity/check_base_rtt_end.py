"""Base RTT after traffic: the idle network has the delays that its last events requested."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.round_trips import TOLERANCE_S, Trip, judged
from orchestrator.network import Channel
from orchestrator.protocol import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the pair of hosts whose probe was farthest from its expected RTT.

    It is in doubt if the queues did not run empty after traffic. Runs that were stored without the
    measurement are not judged.
    """
    found = evidence.all(facts.RoundTripEnd)
    if not found or evidence.network_at_end is None:
        return
    if not all(fact["quiet"] for fact in found):
        detail = "packets still waited in a queue long after traffic was stopped"
        expected_s = found[0]["expected_ns"] / 1e9
        yield Check("base_rtt_end", "s", expected_s, None, TOLERANCE_S, None, detail)
        return
    trips = [Trip.of(fact, evidence.path_at_end(fact["path"])) for fact in found]
    yield from judged(evidence, "base_rtt_end", trips, _reach_ns)


def _reach_ns(channel: Channel) -> tuple[int, int]:
    """Return the reach of jitter after traffic, when correlated jitter holds its last delay."""
    return (0, 0) if channel.jitter is None else channel.jitter.reach_ns
