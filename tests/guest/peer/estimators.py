"""Models of the modules that estimate bandwidth, in double precision; see windows.py."""

from __future__ import annotations

import math

from tests.guest.peer.replay import Ack
from tests.guest.peer.windows import Model, S


class Estimator(Model):
    """Common part of all estimators: ssthresh = Bwe * RTTmin, and Reno's increase.

    A sample is the data that an ACK delivers, divided by the time since the last ACK that did.
    """

    clamps = True
    bandwidth = 0.0  # bytes/s; 0: none yet
    last_us: int | None = None
    gathered = 0

    def ack(self, ack: Ack) -> None:
        super().ack(ack)
        self.gathered += ack.delivered
        if not self.gathered:
            return
        if self.last_us is None:
            self.last_us, self.gathered = ack.time_us, 0
            return
        if not self.due(ack):
            return
        bytes_, self.gathered = self.gathered * self.mss, 0
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
    """One sample per round trip through a pole of 0.9; the first sample initialises the filter."""

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
    """W += max((Wmax - W) / (alpha W), 1 / W), at most one segment for one; see its source."""

    carries = True
    wmax = 0
    alpha = 2
    reached = False
    saved = (0, 2, False)

    def ssthresh(self, window: int) -> float:
        self.saved = (self.wmax, self.alpha, self.reached)
        if self.wmax and not self.reached:
            self.alpha *= 2
        self.wmax, self.reached = window, False
        return super().ssthresh(window)

    def timeout(self, window: int) -> float:
        """Handle a timeout, which changes Wmax and alpha only with rto_counts=1."""
        ssthresh = self.ssthresh(window)
        if not self.settings.get("rto_counts"):
            self.undo()
        return ssthresh

    def undo(self) -> None:
        self.wmax, self.alpha, self.reached = self.saved

    def increase(self, window: int, count: int, ack: Ack) -> float:
        added = count * min(1.0, max((self.wmax - window) / self.alpha, 1) / window)
        if self.wmax and not self.reached and window + added >= self.wmax:
            self.reached, self.alpha = True, max(2, self.alpha // 2)
        return added

    def shown(self) -> tuple[float | None, ...]:
        return (self.bandwidth, self.rtt_min_us, self.wmax, self.alpha)


class Tibet(Estimator):
    """Average length over average interval, through a filter with time constant 1 s."""

    length = 0.0
    interval_us = 0.0
    since_us = 0.0
    saved_rtt_min_us = math.inf

    def sample(self, bytes_: int, elapsed_us: int, ack: Ack) -> None:
        self.length = 0.99 * self.length + 0.01 * bytes_
        self.interval_us = 0.99 * self.interval_us + 0.01 * elapsed_us
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
