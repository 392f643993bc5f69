"""Base RTT: a small probe over the idle network takes as long as the delays add up to."""

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
"""In virtual time a probe's own cost is about 3 us: clock readings at 256 ns and scheduling.

In real time each delay on the way is a timer, which comes late by host.TIMER_S at most; on a slow
machine by what was measured (in a busy one's guest 0.9 to 1.4 ms for six delays).
"""


CHANCE = 1e-6
"""With less than this a faithful run loses all probes of a pair; with more, nothing is told."""


class _Range(NamedTuple):
    """What a round trip may take, in nanoseconds, both included."""

    low: int
    high: int

    def off(self, measured_ns: int) -> int:
        """How far a measured time is outside."""
        return max(self.low - measured_ns, measured_ns - self.high, 0)


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: the pair of hosts whose probe was farthest off.

    Where hardly anything gets through, no probe comes back, and there is nothing to judge by.

    With jitter on the way a probe may take what the jitter reaches; where packets may skip a delay
    there are several such ranges, one for each choice of skipped delays.
    """
    trips = evidence.all(facts.RoundTrip)
    if not trips or evidence.network.live:  # where nobody has asked for any RTT
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
        (_judged(evidence, trip, each_ns) for trip, each_ns in measured if each_ns is not None),
        key=lambda judged: judged[0],
    )
    expected_ns = trip["expected_ns"]
    timers = _timers(evidence, trip)
    off_tolerance_s = TOLERANCE_S + timers * late_s
    range_s = max(expected_ns - nearest.low, nearest.high - expected_ns) / 1e9
    detail = f"{trip['source']} to {trip['sink']}, farthest off of {len(trips)}"
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
    """Return how many delays are on the way there and back."""
    network, source, sink = evidence.network, trip["source"], trip["sink"]
    hops = (*network.path(source, sink), *network.path(sink, source))
    return sum(hop.channel.delay_s > 0 for hop in hops)


def _all_lost(evidence: Evidence, trip: facts.RoundTrip) -> float:
    """Return the probability that none of a trip's probes came back, by the losses asked for."""
    source, sink, network = trip["source"], trip["sink"], evidence.network
    hops = (*network.path(source, sink), *network.path(sink, source))
    lost: float = (1 - passing_share(hop.channel for hop in hops)) ** trip["attempts"]
    return lost


def _judged(
    evidence: Evidence, trip: facts.RoundTrip, measured_ns: int
) -> tuple[float, facts.RoundTrip, int, _Range]:
    """Return how far the probe was off, in ns, the probe, its RTT, and the nearest range for it.

    Of probes that are in a range, the one farthest from the sum of the delays counts as farthest
    off.
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
        # The delay of a correlated jitter begins to vary with the traffic.
        below, above = jitter.reach_ns if jitter is not None and not jitter.states_per_s else (0, 0)
        delayed = {_Range(one.low - below, one.high + above) for one in ranges}
        skipping = channel.reordering is not None
        skipped = {_Range(one.low - delay_ns, one.high - delay_ns) for one in ranges}
        ranges = delayed | skipped if skipping else delayed
    return ranges
