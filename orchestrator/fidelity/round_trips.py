"""Compares measured round trips over an idle network with what store and forward gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import TIMER_S
from orchestrator.network import Channel, passing_share
from orchestrator.protocol.reports.facts import RoundTrip, RoundTripEnd
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


@dataclass(frozen=True)
class MeasuredRoundTrip:
    """A measured round trip over the channels of its path there and back."""

    source: str
    sink: str
    frame_bytes: int
    expected_ns: int
    attempts: int
    measured_ns: int | None
    channels: Sequence[Channel]

    @classmethod
    def of(cls, fact: RoundTrip | RoundTripEnd, channels: Sequence[Channel]) -> MeasuredRoundTrip:
        """Return the round trip of a fact over those channels."""
        return cls(
            fact["source"], fact["sink"],
            fact["frame_bytes"], fact["expected_ns"], fact["attempts"],
            fact["measured_ns"], channels,
        )  # fmt: skip

    @property
    def all_lost(self) -> float:
        """The probability that none of the probes comes back, by the requested losses."""
        lost: float = (1 - passing_share(self.channels)) ** self.attempts
        return lost

    @property
    def timers(self) -> int:
        """The number of delays on the path there and back."""
        return sum(channel.delay_s > 0 for channel in self.channels)


Reach = Callable[[Channel], tuple[int, int]]
"""Returns by how many ns a channel's jitter may lower and raise its delay during the probes."""


def judged(
    evidence: Evidence, name: str, trips: Sequence[MeasuredRoundTrip], reach: Reach
) -> Iterable[Check]:
    """Yield one check of that name, of the round trip that is farthest from its expected RTT.

    If losses on the path are high, no probe may come back. The check is then in doubt.

    Jitter on the path makes the expected RTT a range. Where packets may skip delays, each choice of
    skipped delays has a range of its own.
    """
    lost = [trip for trip in trips if trip.measured_ns is None]
    if lost:
        pair = min(lost, key=lambda trip_of_channel: trip_of_channel.all_lost)
        chance = pair.all_lost
        detail = f"no probe from {pair.source} to {pair.sink} came back"
        if chance > CHANCE:
            detail += f", which losses on the way have happen with a probability of {chance:.3g}"
        ok = None if chance > CHANCE else False
        yield Check(name, "s", pair.expected_ns / 1e9, None, TOLERANCE_S, ok, detail)
        return
    off_ns, trip, measured_ns, nearest = max(
        (_compared(trip, each_ns, reach) for trip in trips for each_ns in [trip.measured_ns]
         if each_ns is not None),
        key=lambda comparison: comparison[0],
    )  # fmt: skip
    late_s = TIMER_S if evidence.real_time else 0.0
    expected_ns = trip.expected_ns
    off_tolerance_s = TOLERANCE_S + trip.timers * late_s
    range_s = max(expected_ns - nearest.low, nearest.high - expected_ns) / 1e9
    detail = f"{trip.source} to {trip.sink}, "
    if len({trip_of_channel.frame_bytes for trip_of_channel in trips}) > 1:
        detail += f"frames of {trip.frame_bytes} bytes, "
    detail += f"farthest off of {len(trips)}"
    if nearest != (expected_ns, expected_ns):
        detail += f"; {nearest.low / 1e6:g} to {nearest.high / 1e6:g} ms may be"
    good = evidence.judge(off_ns / 1e9, off_tolerance_s, trip.timers * evidence.late_s)
    if good is None:
        detail += "; explained by the machine's scheduling_delay"
    yield Check(
        name, "s", expected_ns / 1e9, measured_ns / 1e9, off_tolerance_s + range_s, good, detail
    )


def _compared(
    trip: MeasuredRoundTrip, measured_ns: int, reach: Reach
) -> tuple[float, MeasuredRoundTrip, int, _Range]:
    """Return (ns outside the nearest range, the trip, its RTT in ns, the nearest range).

    Within a range, a tiny value that grows with the distance from the sum of the delays orders the
    probes.
    """
    nearest = min(_ranges(trip, reach), key=lambda rtt_range: rtt_range.off(measured_ns))
    off_ns = nearest.off(measured_ns)
    return off_ns or abs(measured_ns - trip.expected_ns) * 1e-12, trip, measured_ns, nearest


def _ranges(trip: MeasuredRoundTrip, reach: Reach) -> set[_Range]:
    ranges = {_Range(trip.expected_ns, trip.expected_ns)}
    for channel in trip.channels:
        delay_ns = nanoseconds(channel.delay_s)
        below, above = reach(channel)
        delayed = {_Range(rtt_range.low - below, rtt_range.high + above) for rtt_range in ranges}
        skipping = channel.reordering is not None
        skipped = {
            _Range(rtt_range.low - delay_ns, rtt_range.high - delay_ns) for rtt_range in ranges
        }
        ranges = delayed | skipped if skipping else delayed
    return ranges
