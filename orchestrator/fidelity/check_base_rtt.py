"""Base RTT: the RTT of probes over the idle network is what store and forward gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import TIMER_S
from orchestrator.network import Channel, passing_share
from orchestrator.protocol import facts
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import Check

TOLERANCE_S = 20e-6
"""In virtual time a probe itself costs about 3 us: clock readings at 256 ns, and scheduling.

In real time each delay on the path is a timer, which fires late by host.TIMER_S at most. On a slow
machine it fires late by what was measured. In a guest on a busy machine six delays were 0.9 to
1.4 ms late.
"""


CHANCE = 1e-6
"""If all probes of a pair are lost with a higher probability, the check is in doubt, not failed."""


class _Range(NamedTuple):
    """The allowed range of a round trip in nanoseconds; both ends are allowed."""

    low: int
    high: int

    def off(self, measured_ns: int) -> int:
        """Return by how much a measured time is outside the range."""
        return max(self.low - measured_ns, measured_ns - self.high, 0)


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the pair of hosts whose probe was farthest from its expected RTT.

    If losses on the path are high, no probe may come back. The check is then in doubt.

    Jitter on the path makes the expected RTT a range. Where packets may skip delays, each choice of
    skipped delays has a range of its own.
    """
    trips = evidence.all(facts.RoundTrip)
    if not trips or evidence.network.live:  # a live path has no requested RTT
        return
    lost = [(_all_lost(evidence, trip), trip) for trip in trips if trip["measured_ns"] is None]
    if lost:
        chance, pair = min(lost, key=lambda each: each[0])
        detail = f"no probe from {pair['source']} to {pair['sink']} came back"
        if chance > CHANCE:
            detail += f", which losses on the way have happen with a probability of {chance:.3g}"
        ok = None if chance > CHANCE else False
        yield Check("base_rtt", "s", pair["expected_ns"] / 1e9, None, TOLERANCE_S, ok, detail)
        return
    late_s = TIMER_S if evidence.real_time else 0.0
    measured = ((trip, trip["measured_ns"]) for trip in trips)
    off_ns, trip, measured_ns, nearest = max(
        (_compared(evidence, trip, each_ns) for trip, each_ns in measured if each_ns is not None),
        key=lambda one: one[0],
    )
    expected_ns = trip["expected_ns"]
    timers = _timers(evidence, trip)
    off_tolerance_s = TOLERANCE_S + timers * late_s
    range_s = max(expected_ns - nearest.low, nearest.high - expected_ns) / 1e9
    detail = f"{trip['source']} to {trip['sink']}, "
    if len({each["frame_bytes"] for each in trips}) > 1:
        detail += f"frames of {trip['frame_bytes']} bytes, "
    detail += f"farthest off of {len(trips)}"
    if nearest != (expected_ns, expected_ns):
        detail += f"; {nearest.low / 1e6:g} to {nearest.high / 1e6:g} ms may be"
    good = evidence.judge(off_ns / 1e9, off_tolerance_s, timers * evidence.late_s)
    if good is None:
        detail += "; explained by the machine's scheduling_delay"
    yield Check(
        "base_rtt", "s", expected_ns / 1e9, measured_ns / 1e9, off_tolerance_s + range_s, good,
        detail,
    )  # fmt: skip


def _timers(evidence: Evidence, trip: facts.RoundTrip) -> int:
    """Return the number of delays on the path there and back."""
    network, source, sink = evidence.network, trip["source"], trip["sink"]
    hops = (*network.path(source, sink), *network.path(sink, source))
    return sum(hop.channel.delay_s > 0 for hop in hops)


def _all_lost(evidence: Evidence, trip: facts.RoundTrip) -> float:
    """Return the probability that none of a trip's probes comes back, by the requested losses."""
    source, sink, network = trip["source"], trip["sink"], evidence.network
    hops = (*network.path(source, sink), *network.path(sink, source))
    lost: float = (1 - passing_share(hop.channel for hop in hops)) ** trip["attempts"]
    return lost


def _compared(
    evidence: Evidence, trip: facts.RoundTrip, measured_ns: int
) -> tuple[float, facts.RoundTrip, int, _Range]:
    """Return (ns outside the nearest range, the probe, its RTT in ns, the nearest range).

    Within a range, a tiny value that grows with the distance from the sum of the delays orders the
    probes.
    """
    source, sink, network = trip["source"], trip["sink"], evidence.network
    hops = (*network.path(source, sink), *network.path(sink, source))
    nearest = min(
        _ranges([hop.channel for hop in hops], trip["expected_ns"]),
        key=lambda one: one.off(measured_ns),
    )
    off_ns = nearest.off(measured_ns)
    return off_ns or abs(measured_ns - trip["expected_ns"]) * 1e-12, trip, measured_ns, nearest


def _ranges(channels: list[Channel], expected_ns: int) -> set[_Range]:
    ranges = {_Range(expected_ns, expected_ns)}
    for channel in channels:
        delay_ns = nanoseconds(channel.delay_s)
        jitter = channel.jitter
        # Correlated jitter begins when traffic begins, after the probes.
        below, above = jitter.reach_ns if jitter is not None and not jitter.states_per_s else (0, 0)
        delayed = {_Range(one.low - below, one.high + above) for one in ranges}
        skipping = channel.reordering is not None
        skipped = {_Range(one.low - delay_ns, one.high - delay_ns) for one in ranges}
        ranges = delayed | skipped if skipping else delayed
    return ranges
