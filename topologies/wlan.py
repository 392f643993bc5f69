"""WLAN: mobile hosts in one 802.11 cell, and fixed hosts behind its access point.

::

    phone_src0 ──┐                       ┌──access── phone_dst0
                 cell ~~~~wireless~~~~ ap
    phone_src1 ──┘                       └──access── phone_dst1

The wireless link follows the statistical model of ``topologies.dcf``. Its rate is the size of a
full-size packet divided by the packet's mean time, with retransmissions. Its loss is the loss after
the last retransmission. TCP's acknowledgements share the air, so their mean time is added to each
packet's. Shadowing is drawn again each ``coherence`` from the run's seed, once for both directions.
It sets the link's rate and loss. With a coherence of zero each attempt has its own shadowing, as in
ns-2. Rate and loss are then constant means over the shadowing.

Not in the model: contention between stations, data in both directions at once (each direction then
gets the whole rate), rate adaptation, aggregation, the jitter of single retransmissions.

Source of the set-up: Capone, Fratta & Martignon, "Bandwidth Estimation Schemes for TCP over
Wireless Networks", section 4.3 (Fig. 19): 11 Mbit/s, RTS/CTS, 4 retransmissions, shadowing of 4 dB,
path-loss exponent 3.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import NormalDist, fmean
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from orchestrator.kinds.fields import DelayBothWays, Rate, RateBothWays, Strict, Time
from orchestrator.kinds.files.step_traces import LinkDelayBothWays
from orchestrator.kinds.losses import LossSpec
from orchestrator.kinds.queues import QueueBothWays
from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.units import format_rate
from topologies.base import Layout
from topologies.chain import Chain, HostGroup, PlacedGroup, RouterLink
from topologies.dcf import PHYS, Attempt, Standard, Station, received_dbm, snr
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology

PACKET_BYTES, ACK_PACKET_BYTES = 1500, 52
"""IP packets: full-size data, and an acknowledgement with timestamps."""
LEAST_COHERENCE_S = 0.01
_SLICES = 400
"""Number of equally probable values over which means are computed."""
STEP_DB, MOST_DEVIATIONS = 0.1, 6
"""Step of drawn shadowing in dB, and its largest deviation in standard deviations."""


class WlanLink(Strict):
    """A wireless link of 802.11; the defaults are those of the paper, or of ns-2."""

    distance_m: float = Field(gt=0, le=100_000, description="from mobile hosts to access point, m")
    standard: Standard = Field(default="802.11b", description="standard of the physical layer")
    rate: Rate | None = Field(
        default=None, description="rate of data frames; the standard's highest when not given"
    )
    basic_rate: Rate | None = Field(
        default=None, description="rate of RTS, CTS and ACK; the standard's lowest when not given"
    )
    path_loss_exponent: float = Field(
        default=3.0, ge=1, le=8, description="path loss exponent of the distance"
    )
    shadowing_db: float = Field(
        default=4.0, ge=0, le=30, description="standard deviation of the shadowing, dB"
    )
    coherence: Time = Field(
        default=1.0,
        description="how long a draw of the shadowing lasts, at least 10ms; 0s draws at each "
        "attempt",
    )
    transmit_power_dbm: float = Field(default=15.0, ge=-50, le=60, description="dBm")
    reference_loss_db: float = Field(
        default=40.0, ge=0, le=200, description="path loss at 1 m, dB; 40 is free space at 2.4 GHz"
    )
    noise_figure_db: float = Field(
        default=7.0, ge=0, le=50, description="noise figure of the receiver, dB"
    )
    rts: bool = Field(default=True, description="whether RTS and CTS come before each packet")
    retries: int = Field(default=4, ge=0, le=20, description="attempts after the first")
    acks_per_packet: float = Field(
        default=0.5,
        ge=0,
        le=2,
        description="TCP acknowledgements in the same cell for each data packet",
    )
    delay: DelayBothWays = Field(
        default_factory=lambda: DelayBothWays.model_validate("0s"), description="one-way delay"
    )
    queue: QueueBothWays = Field(
        default_factory=lambda: QueueBothWays.model_validate({"limit": "50p"}),
        description="queue in front of the link; drop-tail of 50 packets by default, as in ns-2",
    )

    @field_validator("rate", "basic_rate")
    @classmethod
    def _of_the_standard(cls, rate: int | None, info: ValidationInfo) -> int | None:
        standard = info.data.get("standard")
        if rate is None or standard is None or rate / 1e6 in PHYS[standard].rates:
            return rate
        valid = ", ".join(format_rate(round(each * 1e6)) for each in PHYS[standard].rates)
        raise ValueError(f"{standard} has no rate of {format_rate(rate)}; valid: {valid}")

    @field_validator("coherence")
    @classmethod
    def _not_too_short(cls, time_s: float) -> float:
        if 0 < time_s < LEAST_COHERENCE_S:
            raise ValueError("must be 0s (a draw at each attempt) or at least 10ms")
        return time_s

    @property
    def station(self) -> Station:
        """Medium access of the link."""
        rates = PHYS[self.standard].rates
        rate = rates[-1] if self.rate is None else self.rate / 1e6
        basic_rate = rates[0] if self.basic_rate is None else self.basic_rate / 1e6
        return Station(self.standard, rate, basic_rate, self.rts, self.retries)

    def snr(self, shadowing_db: float) -> float:
        """Return the ratio of signal to noise power under that shadowing."""
        mean_dbm = received_dbm(
            self.transmit_power_dbm, self.reference_loss_db, self.path_loss_exponent,
            self.distance_m,
        )  # fmt: skip
        bandwidth_hz = self.station.phy.bandwidth_hz
        return snr(mean_dbm + shadowing_db, bandwidth_hz, self.noise_figure_db)

    def state(self, shadowing_db: float) -> tuple[int, float]:
        """Return rate (bit/s) and loss under that shadowing."""
        return self._outcome(lambda size: self.station.attempt(self.snr(shadowing_db), size))

    @property
    def blended(self) -> tuple[int, float]:
        """Rate and loss when each attempt has a shadowing of its own."""

        def attempt(size_bytes: int) -> Attempt:
            each = [self.station.attempt(self.snr(x), size_bytes) for x in self._slices()]
            return Attempt(fmean(a.reserved for a in each), fmean(a.succeeded for a in each))

        return self._outcome(attempt)

    @property
    def mean_loss(self) -> float:
        """Loss, in the mean over the shadowing."""
        return fmean(self.state(x)[1] for x in self._slices())

    def draws(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time in seconds, shadowing in dB from then on)."""
        draw = random.Random(seed)
        number, most = 0, self._steps[-1]
        while number * self.coherence < duration_s:
            step = round(draw.gauss(0.0, self.shadowing_db) / STEP_DB)
            yield number * self.coherence, max(-most, min(step, most)) * STEP_DB
            number += 1

    @property
    def possible(self) -> Iterator[float]:
        """Every shadowing in dB that may be drawn."""
        return (step * STEP_DB for step in self._steps)

    @property
    def _steps(self) -> range:
        most = round(MOST_DEVIATIONS * self.shadowing_db / STEP_DB)
        return range(-most, most + 1)

    def _outcome(self, attempt: Callable[[int], Attempt]) -> tuple[int, float]:
        station, data = self.station, attempt(PACKET_BYTES)
        time_s = station.service_s(data, PACKET_BYTES)
        if self.acks_per_packet:
            ack_s = station.service_s(attempt(ACK_PACKET_BYTES), ACK_PACKET_BYTES)
            time_s += self.acks_per_packet * ack_s
        return int(FRAME_BYTES / time_s) * 8, station.loss(data)

    def _slices(self) -> Iterator[float]:
        normal = NormalDist()
        for number in range(_SLICES):
            yield self.shadowing_db * normal.inv_cdf((number + 0.5) / _SLICES)


class Fading(LossSpec):
    """A wireless link's rate and loss while traffic runs, from the same draws of its shadowing.

    Before traffic the idle link is probed, so it has no loss then. The exception is a coherence of
    zero.
    """

    kind: Literal["wlan"] = "wlan"
    link: WlanLink

    @functools.cached_property
    def mean(self) -> float:
        """Loss, in the mean over the shadowing."""
        return self.link.mean_loss if self.link.coherence else self.link.blended[1]

    def impairment(self) -> IndependentLoss:
        """Return the loss as the run begins."""
        return IndependentLoss(0.0 if self.link.coherence else self.mean)

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time in seconds, loss from then on)."""
        if self.link.coherence:
            for time_s, shadowing_db in self.link.draws(seed, duration_s):
                yield time_s, self.link.state(shadowing_db)[1]

    @functools.cached_property
    def state_losses(self) -> tuple[float, ...]:
        """The losses that ``changes()`` yields."""
        if not self.link.coherence:
            return ()
        return tuple(self.link.state(shadowing_db)[1] for shadowing_db in self.link.possible)

    def rates(self, seed: int, duration_s: float) -> Iterator[tuple[float, int]]:
        """Yield (time in seconds, rate in bit/s from then on)."""
        for time_s, shadowing_db in self.link.draws(seed, duration_s):
            yield time_s, self.link.state(shadowing_db)[0]

    @property
    def states_per_s(self) -> float:
        """Draws of the shadowing per second."""
        return 1 / self.link.coherence if self.link.coherence else 0.0


class Wlan(RowTopology):
    """Mobile hosts in one 802.11 cell."""

    kind: Literal["wlan"] = Field(description="mobile hosts in an 802.11 cell")
    wireless: WlanLink = Field(description="the link from the cell to its access point")
    access: Access | None = Field(
        default=None, description="the link of each fixed host whose group gives none"
    )
    groups: list[HostGroup] = Field(
        min_length=1,
        description="mobile hosts, as the sources, and fixed ones; `source_access` is nothing "
        "unless given",
    )

    def layout(self, seed: int) -> Layout:
        """Return the graph: cell and ap, the link ``wireless``, and a link for each host."""
        layout = super().layout(seed)
        fading = Fading(link=self.wireless)
        rates = fading if self.wireless.coherence else None
        first, *others = layout.network.links
        wireless = replace(
            first,
            forward=replace(first.forward, loss=fading, rate_model=rates),
            reverse=replace(first.reverse, loss=fading, rate_model=rates),
        )
        return replace(layout, network=replace(layout.network, links=(wireless, *others)))

    def _chain(self) -> Chain:
        """Return cell and ap with the link ``wireless``."""
        link = self.wireless
        rate_bps = link.state(0.0)[0] if link.coherence else link.blended[0]
        rate = RateBothWays.model_validate(format_rate(rate_bps))
        forward, reverse = link.delay.forward, link.delay.reverse
        delay = LinkDelayBothWays.model_construct(forward=forward, reverse=reverse)
        spec = Bottleneck(rate=rate, delay=delay, queue=link.queue)
        members = [PlacedGroup(_beside_the_air(group), ((0, 1),)) for group in self.groups]
        return Chain(
            ("cell", "ap"), (RouterLink("wireless", spec, ("wireless",)),), members, self.access
        )


def _beside_the_air(group: HostGroup) -> HostGroup:
    """Return the group with ideal links between mobile hosts and the cell."""
    if group.source_access is not None:
        return group
    none = Access.model_validate({} if group.rtt is not None else {"delay": "0s"})
    return group.model_copy(update={"source_access": none})
