"""Models of the modules that estimate bandwidth, in double precision; see windows.py."""

from __future__ import annotations

import math

from tests.guest.peer.replay import Ack
from tests.guest.peer.windows import Model, S

TIBET_ESTIMATES_ON = 1
"""Default of estimate_on."""

_NEW, _BELOW, _REACHED, _ABOVE = "not compared", "below Wmax", "reached Wmax", "never below Wmax"
_ROUNDED = 1e-3


class Estimator(Model):
    """Common part of all estimators: ssthresh = Bwe * RTTmin, and Reno's increase.

    TIBET paper, section 3.1: three duplicate ACKs set ssthresh = Bwe * RTT_min, and cwnd = ssthresh
    if cwnd > ssthresh. A timeout sets the same ssthresh, and cwnd = 1. That paper compares its
    estimators (sections 2.2.3 and 2.2.4) by these windows.

    A sample is the data that an ACK delivers, divided by the time since the last ACK that did.

    Deviations: half of the window while there is no estimate. No samples while the application
    limits the rate. ACKs of one microsecond are one sample. Without SACK, a duplicate ACK's segment
    is known at the next ACK, and is part of that one's sample if that one advances.
    """

    conditional = True
    bandwidth = 0.0  # bytes/s; 0: none yet
    last_us: int | None = None
    gathered = 0
    late: Ack | None = None

    def ack(self, ack: Ack) -> None:
        super().ack(ack)
        late, self.late = self.late, ack if ack.counted_late else None
        if late is not None and ack.advanced:
            self.gathered += late.new_bytes
        elif late is not None:
            self._take(late)
        if not ack.counted_late:
            self._take(ack)

    def _take(self, ack: Ack) -> None:
        if not ack.before["unacked_segments"]:
            return  # it acknowledges nothing, such as a request while the sender waits
        self.gathered += ack.new_bytes
        if not self.gathered:
            return
        if self.last_us is None:
            self.last_us, self.gathered = ack.time_us, 0
            return
        if not self.due(ack):
            return
        bytes_, self.gathered = self.gathered, 0
        elapsed_us, self.last_us = ack.time_us - self.last_us, ack.time_us
        if self.counts(bytes_, elapsed_us, ack):
            self.sample(bytes_, elapsed_us, ack)

    def due(self, ack: Ack) -> bool:
        """Return whether this ACK ends an interval."""
        return self.last_us is not None and ack.time_us > self.last_us

    def counts(self, bytes_: int, elapsed_us: int, ack: Ack) -> bool:
        """Return False while the application limits the rate: samples do not count then."""
        return not (ack.limited and self.bandwidth)

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        """Filter one sample."""
        raise NotImplementedError

    def pause(self) -> None:
        self.last_us, self.gathered = None, 0

    def ssthresh(self, window: int) -> float:
        if not self.bandwidth:
            return super().ssthresh(window)
        return self.bandwidth * self.rtt_min_us / S / self.mss


class WestwoodPlus(Estimator):
    """Westwood+ paper, section 2.1: three duplicate ACKs set cwnd = ssthresh = Bwe * RTTmin.

    That has no condition (pseudo-code b). Section 2.2: one sample per round trip, pole 0.9 (eq. 1).

    Deviations: the first sample initialises the filter. While the application limits the rate,
    samples below the estimate do not count.
    """

    conditional = False

    def due(self, ack: Ack) -> bool:
        return self.last_us is not None and ack.time_us - self.last_us >= self.rtt_us

    def counts(self, bytes_: int, elapsed_us: int, ack: Ack) -> bool:
        return not ack.limited or bytes_ / elapsed_us * S >= self.bandwidth

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        rate = bytes_ / elapsed_us * S
        self.bandwidth = 0.9 * self.bandwidth + 0.1 * rate if self.bandwidth else rate

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, self.rtt_us, None)


class LogWestwood(WestwoodPlus):
    """LogWestwood+ paper, section 3.1, eq. (2): W += max((Wmax - W) / (alpha W), 1 / W) an ACK.

    Wmax is the window at the last loss. alpha is 2 at first and at least 2. It is doubled if a
    loss comes before W reaches Wmax, halved for every errorless increase on the same interval.
    W, Wmax and alpha are real numbers. The decrease is Westwood+'s: a loss sets W to ssthresh.

    Deviations: one acknowledged segment adds at most one. The division is by the whole segments of
    W. alpha and Wmax stay at a timeout (rto_counts=0), because the paper's footnote defines a loss
    as three duplicate ACKs. An "errorless increase" is a climb from below Wmax to Wmax (halving=0),
    that climb at the next loss (1), or each round trip of it and its end (2).
    """

    restores = True

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        super().__init__(mss, settings)
        self.halving = settings.get("halving", 0)
        self.wmax = 0.0
        self.alpha = 2
        self.climb = _NEW
        self.window = 0.0  # W
        self.round_end = 0
        self.saved = (self.wmax, self.alpha, self.climb, self.window)

    def ssthresh(self, window: int) -> float:
        self._follow(window)
        self._compare()
        self.saved = (self.wmax, self.alpha, self.climb, self.window)
        if self.climb == _REACHED and self.halving == 1:
            self._halve()
        if self.climb == _BELOW:
            self.alpha *= 2
        self.wmax, self.climb, self.window = self.window, _NEW, 0.0
        return super().ssthresh(window)

    def timeout(self, window: int) -> float:
        ssthresh = self.ssthresh(window)
        if not self.settings.get("rto_counts"):
            self.wmax, self.alpha = self.saved[:2]
        return ssthresh

    def undo(self) -> None:
        self.wmax, self.alpha, self.climb, self.window = self.saved

    def rise(self, window: int, ssthresh: int, ack: Ack) -> float:
        self._follow(window)
        if ack.acked_bytes >= self.round_end:
            self.round_end = ack.sent_bytes
            if self.climb == _BELOW and self.halving == 2:
                self._halve()
        self._compare()
        added = super().rise(window, ssthresh, ack)
        self.window += added
        self._compare()
        return added

    def increase(self, window: int, count: int, ack: Ack) -> float:
        fraction = self.window % 1
        climb = (self.wmax - (window + fraction)) / self.alpha
        return count * min(1.0, max(climb, 1) / window)

    def _follow(self, window: int) -> None:
        """Take the kernel's window where the kernel itself has set it."""
        if not -_ROUNDED <= self.window - window < 1 + _ROUNDED:
            self.window = float(window)

    def _compare(self) -> None:
        if not self.wmax or self.climb in (_REACHED, _ABOVE):
            return
        if self.window < self.wmax:
            self.climb = _BELOW
        elif self.climb == _NEW:
            self.climb = _ABOVE
        else:
            self.climb = _REACHED
            if self.halving != 1:
                self._halve()

    def _halve(self) -> None:
        self.alpha = max(2, self.alpha // 2)

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, math.floor(self.wmax), self.alpha)


class Tibet(Estimator):
    """TIBET paper, section 3.1 (filters), 3.2 (eq. 5, the ageing of RTTmin).

    For each sent packet (estimate_on=1) or received ACK (0): average length and interval with the
    pole 0.99, their ratio through a filter with time constant 1 s.

    Deviations: both averages start at 0, the estimate at the first ratio. Packets sent between two
    ACKs share bytes and time equally. Equation (5) is evaluated after at least a millisecond.
    """

    length = 0.0
    interval_us = 0.0
    since_us = 0.0
    saved_rtt_min_us = math.inf
    sent: tuple[int, int] | None = None

    def ack(self, ack: Ack) -> None:
        if not self.settings.get("estimate_on", TIBET_ESTIMATES_ON):
            super().ack(ack)
            return
        Model.ack(self, ack)
        if self.last_us is None:
            if ack.new_bytes:
                self.last_us, self.sent = ack.time_us, _sent(ack)
            return
        assert self.sent is not None
        sent = _sent(ack)
        segments, bytes_ = (new - old for new, old in zip(sent, self.sent, strict=True))
        if not segments or ack.time_us <= self.last_us:
            return
        elapsed_us, self.last_us, self.sent = ack.time_us - self.last_us, ack.time_us, sent
        if self.counts(bytes_, elapsed_us, ack):
            self._filter(bytes_, elapsed_us, segments)

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        self._filter(bytes_, elapsed_us, 1)

    def _filter(self, bytes_: int, elapsed_us: int, count: int) -> None:
        for _packet in range(count):
            self.length = 0.99 * self.length + 0.01 * bytes_ / count
            self.interval_us = 0.99 * self.interval_us + 0.01 * elapsed_us / count
        self.since_us += elapsed_us
        ratio = self.length / self.interval_us * S
        if not self.bandwidth:
            self.bandwidth = ratio
        if self.since_us >= 1000:
            gain = 1 - math.exp(-self.since_us / S)
            self.bandwidth += gain * (ratio - self.bandwidth)
            self.since_us = 0

    def ssthresh(self, window: int) -> float:
        """Return ssthresh; with n_cong=1 every event halves RTTmin before (gamma 50)."""
        self.saved_rtt_min_us = self.rtt_min_us
        if self.settings.get("n_cong") == 1:
            self.rtt_min_us = self.rtt_min_us // 2
        return super().ssthresh(window)

    def undo(self) -> None:
        self.rtt_min_us = self.saved_rtt_min_us

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, None, None)


def _sent(ack: Ack) -> tuple[int, int]:
    """Return the segments and bytes that were sent before an ACK came, retransmissions included."""
    return ack.before["data_segs_out"], ack.before["bytes_sent"]


class Westwood1(Estimator):
    """A fixed pole of 19/21 on the mean of two samples."""

    last_rate = 0.0

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        rate = bytes_ / elapsed_us * S
        pole = self.pole(elapsed_us)
        self.bandwidth = pole * self.bandwidth + (1 - pole) * (rate + self.last_rate) / 2
        self.last_rate = rate

    def pole(self, elapsed_us: int) -> float:
        """Return the weight of the old estimate."""
        return 19 / 21

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, self.last_rate / 125, 0)


class Westwood2(Westwood1):
    """Its pole follows the time since the last ACK, tau 0.5 s, not below 0."""

    def pole(self, elapsed_us: int) -> float:
        return max(0.0, (1e6 - elapsed_us) / (1e6 + elapsed_us))


class Westwood3(Estimator):
    """Bytes of the last T over T, T and tau after Wang et al. (core/westwood.h)."""

    last_rate = 0.0
    instability = 0.0
    span_us = 0.0

    def __init__(self, mss: int, settings: dict[str, int]) -> None:
        super().__init__(mss, settings)
        self.maxima = [0.0, 0.0]
        self.taken = 0
        self.block: tuple[float, float, float, bool] = (0, 0, 0, True)

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        window = ack.before.window * self.mss
        # In whole microseconds and bytes, as below: tau is chaotic in what is lost of them.
        needed = math.floor(self.bandwidth * self.rtt_min_us / S)
        span_us = math.floor(self.rtt_us * max(0, window - needed) / window)
        rate = self._rate(bytes_, elapsed_us, span_us)
        self.instability = 0.6 * self.instability + 0.4 * abs(rate - self.last_rate)
        if self.taken == 5:
            self.maxima, self.taken = [0.0, self.maxima[0]], 0
        self.taken += 1
        self.maxima[0] = max(self.maxima[0], self.instability)
        tau_us = self._tau_us()
        pole = max(0.0, (2 * tau_us - elapsed_us) / (2 * tau_us + elapsed_us))
        self.bandwidth = pole * self.bandwidth + (1 - pole) * rate
        self.last_rate = rate

    def _rate(self, bytes_: int, elapsed_us: int, span_us: int) -> float:
        if elapsed_us >= span_us:
            self.span_us = 0
            return bytes_ / elapsed_us * S
        into_us, within, before, first = self.block
        if not self.span_us:
            self.span_us, into_us, within, before, first = span_us, 0, 0, 0, True
        into_us += elapsed_us
        if into_us >= self.span_us:
            into_us = min(into_us - self.span_us, span_us)
            self.span_us, within, before, first = span_us, 0, within, False
        within += bytes_
        self.block = (into_us, within, before, first)
        if first:
            return within / into_us * S
        old = math.floor(before * (self.span_us - into_us) / self.span_us)
        return (within + old) / self.span_us * S

    def _tau_us(self) -> float:
        top = max(self.maxima)
        return self.rtt_us * (1 + 10 * min(self.instability, top) / top) if top else self.rtt_us

    def pause(self) -> None:
        super().pause()
        self.span_us = 0

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, self.span_us, self._tau_us())


class Csfq(Estimator):
    """An exponential filter with K = 0.5 s."""

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        rate = bytes_ / elapsed_us * S
        self.bandwidth += (1 - math.exp(-elapsed_us / 0.5e6)) * (rate - self.bandwidth)

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, self.rtt_us, 0)
