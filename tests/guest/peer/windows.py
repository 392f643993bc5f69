"""The papers' pseudo-code in double precision; each model lists where it leaves its paper.

A model takes in every ACK of a connection and tells what the module must hold and do next.

Common to all models, because the kernel's TCP has it so and no module can change it:

- Three duplicate ACKs start the kernel's recovery. It takes cwnd to its new value over a round
  trip (proportional rate reduction), and not at once as the papers' "cwnd = ssthresh".
- cwnd counts whole segments, and Reno's increase for an ACK divides by whole segments.
- Acknowledged segments count, not ACKs, unless count_acks is 1.
"""

from __future__ import annotations

import math

import numpy as np

from tests.guest.peer.replay import OPEN, Ack

S = 1e6
"""Microseconds in a second."""


class Model:
    """Reno: half of the window upon a loss, one segment a round trip; nothing to show."""

    conditional = False
    """Whether three duplicate ACKs set cwnd to ssthresh only if cwnd > ssthresh (clamp_cwnd)."""
    carries = False
    """Whether a fraction of a segment outlives a reduction."""
    restores = False
    """Whether a fraction of a segment is restored by undo."""

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        self.mss, self.settings = mss, settings
        self.rtt_us = 0.0
        self.rtt_min_us = math.inf

    def handshake(self, rtt_us: int) -> None:
        """Take in the handshake, whose round-trip time counts for RTTmin unless the user says no.

        It does not in ns-2, which has no handshake (handshake_rtt=0).
        """
        if self.settings.get("handshake_rtt", 1):
            self.rtt_min_us = rtt_us

    def ack(self, ack: Ack) -> None:
        """Take in one ACK."""
        if ack.rtt_us is not None and ack.rtt_us > 0:
            self.rtt_us = ack.rtt_us
            self.rtt_min_us = min(self.rtt_min_us, ack.rtt_us)

    def pause(self) -> None:
        """The application had nothing to send, and nothing was in flight."""

    def ssthresh(self, window: int) -> float:
        """Return ssthresh upon three duplicate ACKs, a timeout or ECN, in segments."""
        return window // 2

    def timeout(self, window: int) -> float:
        """Return the same upon a timeout."""
        return self.ssthresh(window)

    def undo(self) -> None:
        """The last of those was none."""

    def rise(self, window: int, ssthresh: int, ack: Ack) -> float:
        """Return by how much an ACK raises the window: slow start up to ssthresh, then more."""
        count = self.counted(ack)
        if window >= ssthresh:
            return self.increase(window, count, ack)
        slow = min(count, ssthresh - window)
        if slow == count:
            return slow
        return slow + self.increase(ssthresh, count - slow, ack)

    def counted(self, ack: Ack) -> int:
        """Return what counts: segments, delivered in or out of order, or ACKs."""
        return min(1, ack.delivered) if self.settings.get("count_acks") else ack.delivered

    def increase(self, window: int, count: int, ack: Ack) -> float:
        """Return by how much so many raise the window in congestion avoidance."""
        return count / window

    def shown(self) -> tuple[float | None, ...]:
        """Return the four numbers on show; None for one that is not of interest here."""
        return ()


class PacketPairs:
    """Hoe, section 3.2 (three points) and Keshav (two): the slope of acknowledged bytes over time.

    The ACKs are consecutive ones of segments that were sent back to back, in one flight. A segment
    belongs to it if it was sent before the one before it left the bottleneck. The tolerance is an
    eighth of the time between first and last ACK, a millisecond at most. More segments that were
    sent before the first ACK came must be behind it. Its ACK acknowledges no fewer segments than
    the first. No ACK counts during a loss or while the application has no data.
    """

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.rate = 0.0  # bytes/s; 0: none yet
        self.refused = 0
        self.flight: list[Ack] = []

    def ack(self, ack: Ack) -> None:
        """Take in one ACK."""
        if self.rate or not (ack.advanced or ack.after["sacked_segments"]):
            return
        if not self._is_valid(ack):
            self.flight = []
            self.refused += 1
            return
        if self.flight and not self._continues(ack):
            self.flight = []
            self.refused += 1
        self.flight.append(ack)
        if len(self.flight) == self.wanted:
            x = np.array([one.time_us / S for one in self.flight])
            y = np.array([one.acked_bytes for one in self.flight])
            self.rate = float(np.cov(x, y, bias=True)[0, 1] / np.var(x))

    @staticmethod
    def _is_valid(ack: Ack) -> bool:
        lossless = ack.before.ca_state == OPEN and not ack.after["sacked_segments"]
        return lossless and ack.rtt_us is not None and not ack.still_limited

    def _continues(self, ack: Ack) -> bool:
        first, last = self.flight[0], self.flight[-1]
        if ack.time_us == last.time_us or ack.acked_bytes >= first.sent_bytes:
            return False
        if ack.delivered < first.delivered:
            return False
        sent = [_sent_us(first), _sent_us(ack)]
        left = [first.time_us, last.time_us]
        tolerance = min(1000, (ack.time_us - first.time_us) // 8)
        return 0 <= sent[1] - sent[0] <= left[1] - left[0] + tolerance


def _sent_us(ack: Ack) -> int:
    """Return when the last segment that an ACK acknowledges was sent."""
    assert ack.rtt_us is not None
    return ack.time_us - ack.rtt_us


class NewRenoNs2(Model):
    """Reno counted by ACKs; shows the fraction of a segment that is still to come."""

    carries = True
    fraction = 0.0

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        super().__init__(mss, {"count_acks": 1, **settings})

    def increase(self, window: int, count: int, ack: Ack) -> float:
        self.fraction += count / window
        return count / window

    def shown(self) -> tuple[float | None, ...]:
        return (0, self.rtt_min_us, self.fraction % 1 * 2**32, self.rtt_us)


class Libra(Model):
    """W += alpha T^2 / (T + T0) / W and W -= W T1 / (2 (T + T0)), T0 = T1 = 1 s, k1 = k2 = 2."""

    carries = True

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        super().__init__(mss, settings)
        self.rtt_max_us = 0.0
        self.pairs = PacketPairs(3)

    def ack(self, ack: Ack) -> None:
        super().ack(ack)
        self.rtt_max_us = max(self.rtt_max_us, self.rtt_us)
        self.pairs.ack(ack)

    def capacity(self) -> float:
        """Return C in bytes/s: what is given, else by packet pairs; 0 while it is unknown."""
        if given := self.settings.get("libra_capacity_kbps"):
            return given * 125
        return self.pairs.rate

    def ssthresh(self, window: int) -> float:
        return window - window / (2 * (self.rtt_us / S + 1))

    def per_rtt(self) -> float:
        """Return the increase a round trip in segments."""
        rtt_s = self.rtt_us / S
        spread = self.rtt_max_us - self.rtt_min_us
        queue = (self.rtt_us - self.rtt_min_us) / spread if spread else 0.0
        alpha = 2 * self.capacity() / 125_000 * math.exp(-2 * queue)
        return alpha * rtt_s * rtt_s / (rtt_s + 1)

    def increase(self, window: int, count: int, ack: Ack) -> float:
        """While C is not known, as Reno's."""
        return count * (self.per_rtt() if self.capacity() else 1) / window

    def shown(self) -> tuple[float | None, ...]:
        return (self.capacity(), self.rtt_min_us, None, self.rtt_max_us)


class Fast(Model):
    """w = min(2w, w/2 + (w baseRTT / RTT + 100) / 2) every second round trip."""

    average_us = 0.0
    round_end = 0
    rounds = 0

    def ack(self, ack: Ack) -> None:
        super().ack(ack)
        if ack.rtt_us is not None:
            weight = min(3 / ack.before.window, 1 / 4)
            if not self.average_us:
                self.average_us = ack.rtt_us
            self.average_us += weight * (ack.rtt_us - self.average_us)

    def rise(self, window: int, ssthresh: int, ack: Ack) -> float:
        """Slow start is Reno's until alpha (100) packets seem to be queued."""
        queued = window * (1 - self.rtt_min_us / self.average_us)
        if window < ssthresh and queued < 100:
            return min(ack.delivered, ssthresh - window)
        return self.increase(window, ack.delivered, ack)

    def increase(self, window: int, count: int, ack: Ack) -> float:
        if ack.acked_bytes <= self.round_end:
            return 0.0
        self.round_end = ack.sent_bytes
        self.rounds += 1
        if self.rounds < 2:
            return 0.0
        self.rounds = 0
        target = window * self.rtt_min_us / self.average_us + 100
        return min(2 * window, (window + target) / 2) - window

    def shown(self) -> tuple[float | None, ...]:
        return (None, self.rtt_min_us, self.average_us, None)


class IdealTcp(Model):
    """TIBET paper, section 4.5: ssthresh = Exact_Available_Bw * Exact_RTT, cwnd only downwards.

    Deviation: half of the window while a setting is 0.
    """

    conditional = True

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        super().__init__(mss, settings)
        self.rate_bps = settings.get("idealtcp_rate_bps", 0)
        self.given_rtt_us = settings.get("idealtcp_rtt_us", 0)

    def ssthresh(self, window: int) -> float:
        if not self.rate_bps:
            return super().ssthresh(window)
        return self.rate_bps / 8 * self.given_rtt_us / S / self.mss

    def shown(self) -> tuple[float | None, ...]:
        return (self.rate_bps // 8, self.rtt_min_us, self.given_rtt_us, self.rtt_us)
