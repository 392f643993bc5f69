"""Base RTT: the RTT of probes over the idle network is what store and forward gives."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.round_trips import MeasuredRoundTrip, judged
from orchestrator.network import Channel
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the pair of hosts whose probe was farthest from its expected RTT."""
    network = evidence.network
    if network.live:  # a live path has no requested RTT
        return
    trips = []
    for fact in evidence.all(facts.RoundTrip):
        source, sink = fact["source"], fact["sink"]
        hops = (*network.path(source, sink), *network.path(sink, source))
        trips.append(MeasuredRoundTrip.of(fact, [hop.channel for hop in hops]))
    if trips:
        yield from judged(evidence, "base_rtt", trips, _reach_ns)


def _reach_ns(channel: Channel) -> tuple[int, int]:
    """Return the reach of jitter before traffic; correlated jitter begins when traffic begins."""
    jitter = channel.jitter
    return jitter.reach_ns if jitter is not None and not jitter.states_per_s else (0, 0)
