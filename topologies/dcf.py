"""Models an 802.11 link: a packet's mean time, and the probability of its final loss.

Radio: the power received at distance d is P = Pt - L0 - 10 n log10(d / 1 m) + X dBm with X normal
of zero mean (log-normal shadowing): T. S. Rappaport, "Wireless Communications", 2nd ed., eq. 4.69.
Signal to noise is P against thermal noise (-174 dBm/Hz) in the receiver's bandwidth and its noise
figure.

Error rates for independent bit errors: DBPSK exp(-Eb/N0) / 2 and DQPSK (J. G. Proakis,
"Digital Communications", 4th ed., ch. 5); CCK has the union bound over its codewords (codewords:
IEEE Std 802.11-2016 clause 16.4.6.6; bound: IEEE Std 802.15.2-2003). OFDM has the union bound of
its convolutional code with hard decisions. The weights are those of G. Pei, T. Henderson,
"Validation of OFDM error rate model in ns-3", 2010.

Medium access: DCF (IEEE Std 802.11-2016 clause 10.3) with one contending station. Attempt k
(from 0) waits DIFS and on average W_k / 2 slots with W_k = min(2^k (W_0 + 1) - 1, W_max), then
sends RTS, CTS, DATA and ACK, SIFS apart (G. Bianchi, IEEE JSAC 18(3), 2000, eq. 17), or without
RTS/CTS the last two. A failed attempt with its time-out takes as long as a successful one. An
attempt that fails at RTS or CTS ends one slot after that point. After ``retries`` more attempts the
packet is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Standard = Literal["802.11b", "802.11a", "802.11g"]

THERMAL_DBM_PER_HZ = -174.0
MAC_BYTES = 36
"""MAC header 24, frame check sequence 4, LLC/SNAP 8."""
RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14

_CCK = {
    5.5: ((14, 8), (1, 16)),
    11.0: ((24, 4), (16, 6), (174, 8), (16, 10), (24, 12), (1, 16)),
}
"""By rate in Mbit/s: (number of codewords, half the squared distance / chip energy), ..."""
_CCK_CHIPS_PER_S = 11e6
_CODES: dict[str, tuple[float, int, tuple[int, ...]]] = {
    "1/2": (
        1,
        10,
        (36, 0, 211, 0, 1404, 0, 11633, 0, 77433, 0, 502690, 0, 3322763, 0, 21292910, 0, 134365911),
    ),
    "2/3": (2, 6, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123)),
    "3/4": (3, 5, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675)),
}
"""By code rate: information bits per branch, free distance, bit errors from there on."""
_OFDM = {
    6.0: (1, "1/2"), 9.0: (1, "3/4"), 12.0: (2, "1/2"), 18.0: (2, "3/4"),
    24.0: (4, "1/2"), 36.0: (4, "3/4"), 48.0: (6, "2/3"), 54.0: (6, "3/4"),
}  # fmt: skip
"""By rate in Mbit/s: bits per symbol of a subcarrier, and code rate."""


@dataclass(frozen=True)
class Phy:
    """Timing of a physical layer: times in microseconds, rates in Mbit/s (basic rate first)."""

    rates: tuple[float, ...]
    slot_us: float
    sifs_us: float
    cw_min: int
    bandwidth_hz: float
    airtime_us: Callable[[int, float], float]
    cw_max: int = 1023

    @property
    def difs_us(self) -> float:
        """DCF interframe space."""
        return self.sifs_us + 2 * self.slot_us


def _dsss_us(size_bytes: int, rate: float) -> float:
    return 192 + 8 * size_bytes / rate  # long preamble and header


def _ofdm_us(size_bytes: int, rate: float) -> float:
    return 20 + 4 * math.ceil((16 + 8 * size_bytes + 6) / (4 * rate))


def _erp_us(size_bytes: int, rate: float) -> float:
    return _ofdm_us(size_bytes, rate) + 6  # signal extension


PHYS: dict[Standard, Phy] = {
    "802.11b": Phy((1.0, 2.0, 5.5, 11.0), 20, 10, 31, _CCK_CHIPS_PER_S, _dsss_us),
    "802.11a": Phy(tuple(_OFDM), 9, 16, 15, 20e6, _ofdm_us),
    "802.11g": Phy(tuple(_OFDM), 9, 10, 15, 20e6, _erp_us),
}


def received_dbm(
    transmit_dbm: float, reference_loss_db: float, exponent: float, distance_m: float
) -> float:
    """Return the power received at that distance, without shadowing."""
    return transmit_dbm - reference_loss_db - 10 * exponent * math.log10(distance_m)


def snr(power_dbm: float, bandwidth_hz: float, noise_figure_db: float) -> float:
    """Return the ratio of signal to noise power."""
    noise_dbm = THERMAL_DBM_PER_HZ + 10 * math.log10(bandwidth_hz) + noise_figure_db
    return float(10 ** ((power_dbm - noise_dbm) / 10))


def delivered(rate: float, ratio: float, size_bytes: int) -> float:
    """Return the probability that a frame of that rate in Mbit/s and SNR arrives without error."""
    if rate in _CCK:
        error = sum(n * _q(math.sqrt(d * ratio)) for n, d in _CCK[rate])
        symbols = 8 * size_bytes / (8 if rate == 11.0 else 4)
        return _intact(error, symbols)
    if rate in _OFDM:
        return _intact(_ofdm_error(rate, ratio), 8 * size_bytes)
    bit_ratio = ratio * _CCK_CHIPS_PER_S / (rate * 1e6)
    error = 0.5 * math.exp(-bit_ratio) if rate == 1.0 else _dqpsk_error(bit_ratio)
    return _intact(error, 8 * size_bytes)


def _intact(error: float, number: float) -> float:
    return math.exp(number * math.log1p(-error)) if error < 0.5 else 0.0


def _q(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2))


def _dqpsk_error(ratio: float) -> float:
    """Return the bit error rate of DQPSK with Gray code, for an Eb/N0 that is not small."""
    root = math.sqrt(2)
    if ratio <= 0:
        return 0.5
    factor = (root + 1) / math.sqrt(8 * math.pi * root * ratio)
    return min(0.5, factor * math.exp(-(2 - root) * ratio))


def _ofdm_error(rate: float, ratio: float) -> float:
    bits, code = _OFDM[rate]
    if bits == 1:
        raw = _q(math.sqrt(2 * ratio))
    else:  # square constellations of M points with Gray code
        points = 2**bits
        raw = 4 / bits * (1 - 1 / math.sqrt(points)) * _q(math.sqrt(3 * ratio / (points - 1)))
    branch, free_distance, weights = _CODES[code]
    chernoff = math.sqrt(4 * raw * (1 - raw))
    total = sum(w * chernoff ** (free_distance + place) for place, w in enumerate(weights))
    return min(0.5, total / (2 * branch))


@dataclass(frozen=True)
class Attempt:
    """Outcome of one attempt: the probability of a CTS, and that of success."""

    reserved: float
    succeeded: float


@dataclass(frozen=True)
class Station:
    """An 802.11 access: the standard, its rates in Mbit/s, use of RTS, and retransmissions."""

    standard: Standard
    rate: float
    basic_rate: float
    rts: bool
    retries: int

    @property
    def phy(self) -> Phy:
        """Timing of the standard."""
        return PHYS[self.standard]

    def attempt(self, ratio: float, packet_bytes: int) -> Attempt:
        """Return the outcome of an attempt at that SNR; ``packet_bytes`` includes the IP header."""

        def control(size_bytes: int) -> float:
            return delivered(self.basic_rate, ratio, size_bytes)

        reserved = control(RTS_BYTES) * control(CTS_BYTES) if self.rts else 1.0
        data = delivered(self.rate, ratio, packet_bytes + MAC_BYTES)
        return Attempt(reserved, reserved * data * control(ACK_BYTES))

    def loss(self, attempt: Attempt) -> float:
        """Return the probability that a packet is lost after all attempts."""
        return (1 - attempt.succeeded) ** (self.retries + 1)

    def service_s(self, attempt: Attempt, packet_bytes: int) -> float:
        """Return the mean time that a packet takes, delivered or not."""
        phy, failed = self.phy, 1 - attempt.succeeded
        reservation_us = (
            phy.airtime_us(RTS_BYTES, self.basic_rate)
            + phy.sifs_us
            + phy.airtime_us(CTS_BYTES, self.basic_rate)
        )
        exchange_us = (
            phy.airtime_us(packet_bytes + MAC_BYTES, self.rate)
            + phy.sifs_us
            + phy.airtime_us(ACK_BYTES, self.basic_rate)
        )
        sent_us = exchange_us
        if self.rts:
            whole_us = reservation_us + phy.sifs_us + exchange_us
            sent_us = (
                attempt.reserved * whole_us
                + (1 - attempt.reserved) * (reservation_us + phy.slot_us)
            )  # fmt: skip
        total_us = 0.0
        for number in range(self.retries + 1):
            window = min(2**number * (phy.cw_min + 1) - 1, phy.cw_max)
            total_us += failed**number * (phy.difs_us + window / 2 * phy.slot_us + sent_us)
        return total_us / 1e6
