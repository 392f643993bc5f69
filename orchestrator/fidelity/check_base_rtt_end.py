"""Base RTT after traffic: the idle network has the delays that its last events requested."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.round_trips import TOLERANCE_S, MeasuredRoundTrip, judged
from orchestrator.network import Channel
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the pair of hosts whose probe was farthest from its expected RTT.

    It is in doubt if the queues did not run empty after traffic. Runs that were stored without the
    measurement are not judged.
    """
    probes = evidence.all(facts.RoundTripEnd)
    if not probes or evidence.network_at_end is None:
        return
    if not all(fact["quiet"] for fact in probes):
        detail = "packets still waited in a queue long after traffic was stopped"
        expected_s = probes[0]["expected_ns"] / 1e9
        yield Check("base_rtt_end", "s", expected_s, None, TOLERANCE_S, None, detail)
        return
    trips = [MeasuredRoundTrip.of(fact, evidence.path_at_end(fact["path"])) for fact in probes]
    yield from judged(evidence, "base_rtt_end", trips, _reach_ns)


def _reach_ns(channel: Channel) -> tuple[int, int]:
    """Return the reach of jitter after traffic, when correlated jitter holds its last delay."""
    return (0, 0) if channel.jitter is None else channel.jitter.reach_ns
