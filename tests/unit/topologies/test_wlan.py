"""The 802.11 link: frames, errors, retransmissions and shadowing, compared with known values."""

from __future__ import annotations

import cmath
import itertools
import math
from collections import Counter
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.compile.schedule import planned_steps
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.netem import loss_settings
from orchestrator.scenario import load
from topologies import dcf
from topologies.dcf import Attempt, Station
from topologies.wlan import Fading, Wlan, WlanLink

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
CLEAN = Attempt(1.0, 1.0)


def link(**values: Any) -> WlanLink:
    return WlanLink.model_validate({"distance_m": 50.0, **values})


def test_an_exchange_of_80211b_takes_what_the_standard_says() -> None:
    # DIFS 50, 31/2 slots of 20, RTS 192+160, CTS 192+112, DATA 192+1536*8/11, ACK 192+112, 3 SIFS
    data_us = 192 + 1536 * 8 / 11
    wanted = 50 + 310 + 352 + 304 + data_us + 304 + 30
    reserving = Station("802.11b", 11.0, 1.0, rts=True, retries=4)
    assert reserving.service_s(CLEAN, 1500) * 1e6 == pytest.approx(wanted)
    plain = Station("802.11b", 11.0, 1.0, rts=False, retries=4)
    assert plain.service_s(CLEAN, 1500) * 1e6 == pytest.approx(50 + 310 + data_us + 10 + 304)


def test_an_exchange_of_80211a_takes_whole_symbols() -> None:
    # DIFS 34, 15/2 slots of 9; 54 Mbit/s has 216 bits a symbol, 6 Mbit/s 24
    data_us = 20 + 4 * math.ceil((16 + 8 * 1536 + 6) / 216)
    ack_us = 20 + 4 * math.ceil((16 + 8 * 14 + 6) / 24)
    station = Station("802.11a", 54.0, 6.0, rts=False, retries=4)
    assert station.service_s(CLEAN, 1500) * 1e6 == pytest.approx(34 + 67.5 + data_us + 16 + ack_us)
    # 802.11g adds 6 us behind each frame, and has a SIFS of 10
    other = Station("802.11g", 54.0, 6.0, rts=False, retries=4)
    wanted = 28 + 67.5 + data_us + 6 + 10 + ack_us + 6
    assert other.service_s(CLEAN, 1500) * 1e6 == pytest.approx(wanted)


def test_retransmissions_wait_longer_and_leave_the_residual_loss() -> None:
    station = Station("802.11b", 11.0, 1.0, rts=False, retries=4)
    half = Attempt(1.0, 0.5)
    assert station.loss(half) == 0.5**5
    sent_us = 192 + 1536 * 8 / 11 + 10 + 304
    waits = [50 + 20 * window / 2 for window in (31, 63, 127, 255, 511)]
    wanted = sum(0.5**k * (wait + sent_us) for k, wait in enumerate(waits))
    assert station.service_s(half, 1500) * 1e6 == pytest.approx(wanted)
    # the window stops growing at 1023 slots
    never = Station("802.11b", 11.0, 1.0, rts=False, retries=7).service_s(Attempt(1.0, 0.0), 1500)
    windows = (31, 63, 127, 255, 511, 1023, 1023, 1023)
    assert never * 1e6 == pytest.approx(sum(50 + 10 * each + sent_us for each in windows))


def test_a_reservation_that_fails_ends_the_attempt() -> None:
    station = Station("802.11b", 11.0, 1.0, rts=True, retries=0)
    assert station.service_s(Attempt(0.0, 0.0), 1500) * 1e6 == pytest.approx(
        50 + 310 + 352 + 10 + 304 + 20
    )


def _codewords(phases: Any) -> list[list[complex]]:
    """Return CCK codewords of (p1, p2, p3, p4), as IEEE Std 802.11-2016 16.4.6.6 has them."""
    made = []
    for p1, p2, p3, p4 in phases:
        chips = (p1 + p2 + p3 + p4, p1 + p3 + p4, p1 + p2 + p4, p1 + p4, p1 + p2 + p3, p1 + p3,
                 p1 + p2, p1)  # fmt: skip
        signs = (1, 1, 1, -1, 1, 1, -1, 1)
        made.append([s * cmath.exp(1j * phase) for s, phase in zip(signs, chips, strict=True)])
    return made


def test_the_distances_of_cck_are_those_of_its_codewords() -> None:
    turns = [quarter * math.pi / 2 for quarter in range(4)]
    fast = _codewords(itertools.product(turns, repeat=4))
    slow = _codewords(
        (p1, d2 * math.pi + math.pi / 2, 0.0, d3 * math.pi)
        for p1, d2, d3 in itertools.product(turns, (0, 1), (0, 1))
    )
    for rate, words in ((11.0, fast), (5.5, slow)):
        found = Counter(
            round(sum(abs(x - y) ** 2 for x, y in zip(words[0], word, strict=True)) / 2)
            for word in words[1:]
        )
        assert sorted((number, half) for half, number in found.items()) == sorted(dcf._CCK[rate])


def test_error_rates_agree_with_the_textbooks() -> None:
    def errors(rate: float, ratio: float) -> float:
        return float(1 - dcf.delivered(rate, ratio, 1) ** (1 / 8))

    # DBPSK at 1 Mbit/s has 11 chips a bit: Eb/N0 = 11 Ec/N0
    assert errors(1.0, 0.5) == pytest.approx(0.5 * math.exp(-5.5))
    # DQPSK needs 2.3 dB more than QPSK at an error rate of 1e-5: 9.6 + 2.3 dB
    assert math.log10(errors(2.0, 10**1.19 / 5.5)) == pytest.approx(-5, abs=0.1)
    # BPSK of rate 1/2 at a raw error rate of 1 %: the union bound by hand
    raw = 0.01
    ratio = NormalDist().inv_cdf(1 - raw) ** 2 / 2
    d2 = 4 * raw * (1 - raw)
    bound = sum(w * d2 ** (5 + k) for k, w in enumerate((36, 211, 1404, 11633, 77433))) / 2
    assert errors(6.0, ratio) == pytest.approx(bound, rel=0.005)


@pytest.mark.parametrize("standard", ["802.11b", "802.11a", "802.11g"])
def test_faster_rates_need_more_signal(standard: Any) -> None:
    needed_db = {
        rate: next(db / 10 for db in range(-200, 400) if _half(rate, db / 10))
        for rate in dcf.PHYS[standard].rates
    }
    # 9 Mbit/s is known to be no better than 12, nor differential 2 Mbit/s than coherent 5.5
    ordered = [db for rate, db in needed_db.items() if rate not in (9.0, 2.0)]
    assert ordered == sorted(ordered)
    # IEEE Std 802.11-2016: sensitivities of 6 and 54 Mbit/s are 17 dB apart (table 17-18)
    if standard == "802.11a":
        assert needed_db[54.0] - needed_db[6.0] == pytest.approx(17, abs=2)


def _half(rate: float, snr_db: float) -> bool:
    """Tell whether more than half of the full-size frames arrive."""
    return dcf.delivered(rate, 10 ** (snr_db / 10), 1536) > 0.5


def test_received_power_and_noise_follow_their_formulas() -> None:
    # Rappaport eq. 4.69; thermal noise in 11 MHz is -103.6 dBm
    assert dcf.received_dbm(15, 40, 3, 100) == pytest.approx(-85)
    assert 10 * math.log10(dcf.snr(-85, 11e6, 7)) == pytest.approx(-85 + 103.586 - 7, abs=1e-3)


def test_the_rate_is_a_packet_divided_by_its_airtime() -> None:
    near = link(distance_m=5.0)
    data_us, ack_us = (
        50 + 310 + 352 + 304 + 192 + (size + 36) * 8 / 11 + 304 + 30 for size in (1500, 52)
    )
    rate_bps, loss = near.state(0.0)
    assert rate_bps == pytest.approx(1514 * 8e6 / (data_us + ack_us / 2), abs=8)
    assert (loss, rate_bps % 8) == (0.0, 0)
    alone = link(distance_m=5.0, acks_per_packet=0.0).state(0.0)[0]
    assert alone == pytest.approx(1514 * 8e6 / data_us, abs=8)


@pytest.mark.slow
def test_loss_grows_with_the_distance() -> None:
    for draws in ("0s", "1s"):
        found = [link(distance_m=float(d), coherence=draws) for d in range(20, 200, 20)]
        losses = [Fading(link=each).mean for each in found]
        assert losses == sorted(losses)
        assert losses[0] < 1e-9 < 0.1 < losses[-1]
    rates = [each.blended[0] for each in found]
    assert rates == sorted(rates, reverse=True)


def test_retries_help_against_errors_of_single_attempts_only() -> None:
    # at 110 m; with its own draw each attempt may succeed where the last one did not
    own = [link(distance_m=110.0, coherence="0s", retries=n).blended[1] for n in (0, 4)]
    assert own[1] == pytest.approx(own[0] ** 5)
    lasting = [link(distance_m=110.0, retries=n).mean_loss for n in (0, 4)]
    assert 0.5 * lasting[0] < lasting[1] < lasting[0]


@pytest.mark.slow
def test_shadowing_is_normal_and_drawn_from_the_seed() -> None:
    fading = Fading(link=link(distance_m=110.0, coherence="100ms"))
    drawn = list(fading.link.draws(7, 1000.0))
    assert [time_s for time_s, _ in drawn[:3]] == [0.0, 0.1, 0.2]
    assert len(drawn) == 10_000
    values = [db for _, db in drawn]
    assert fmean(values) == pytest.approx(0, abs=0.15)
    assert stdev(values) == pytest.approx(4, rel=0.03)
    assert max(abs(db * 10 - round(db * 10)) for db in values) < 1e-9
    assert drawn == list(fading.link.draws(7, 1000.0)) != list(fading.link.draws(8, 1000.0))
    # rate and loss are of the same draws, and their mean is the model's
    rates, losses = list(fading.rates(7, 1000.0)), list(fading.changes(7, 1000.0))
    states = [fading.link.state(db) for db in values]
    assert [rate for _, rate in rates] == [state[0] for state in states]
    assert [loss for _, loss in losses] == [state[1] for state in states]
    assert fmean(loss for _, loss in losses) == pytest.approx(fading.mean, abs=0.015)
    assert {loss for _, loss in losses} <= set(fading.state_losses)


def test_a_wlan_has_its_links_and_delays() -> None:
    spec = Wlan.model_validate(
        {
            "kind": "wlan",
            "wireless": {"distance_m": 100.0},
            "access": {"delay": "20ms"},
            "groups": [{"name": "a", "hosts": 2}, {"name": "b", "rtt": "50ms", "access": {}}],
        }
    )
    network = spec.layout(1).network
    assert network.bottlenecks == ("wireless",)
    wireless = network.links[0]
    assert wireless.forward == wireless.reverse
    assert isinstance(wireless.forward.loss, Fading)
    assert wireless.forward.rate_model == wireless.forward.loss
    assert wireless.forward.rate_bps == spec.wireless.state(0.0)[0]
    assert network.propagation_rtt_s("a_src1", "a_dst1") == pytest.approx(0.04)
    assert network.propagation_rtt_s("b_src0", "b_dst0") == pytest.approx(0.05)
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert Wlan.model_validate(written) == spec


def near(distance_m: float) -> RunSpec:
    topology = (
        f"topology={{kind: wlan, wireless: {{distance_m: {distance_m}}}, "
        "groups: [{name: a, access: {delay: 1ms}}]}"
    )
    flows = "flows=[{name: up, group: a}]"
    return plan(load(QUICKSTART, [topology, flows])).runs[0]


def test_a_station_near_the_access_point_needs_no_changes_during_traffic() -> None:
    spec = near(5.0)
    assert not spec.network.links[0].forward.loses
    assert planned_steps(spec) == []


def test_a_loss_that_only_the_rarest_shadowing_brings_is_one() -> None:
    far = next(d for d in range(20, 200) if any(Fading(link=link(distance_m=d)).state_losses))
    wireless = near(float(far)).network.links[0].forward
    assert wireless.loss is not None
    assert (wireless.loss.mean, wireless.loses) == (0.0, True)


def test_shadowing_drawn_at_each_attempt_needs_no_changes_during_traffic() -> None:
    fading = Fading(link=link(distance_m=120.0, coherence="0s"))
    assert (list(fading.changes(1, 100.0)), fading.states_per_s) == ([], 0.0)
    (setting,) = loss_settings(fading.impairment())
    assert int(setting.value) / 2**32 == pytest.approx(fading.mean, rel=1e-5)
    assert fading.mean > 1e-4


@pytest.mark.parametrize(
    ("values", "path", "why"),
    [
        (
            {"rate": "54mbit"},
            "rate",
            "802.11b has no rate of 54mbit; valid: 1mbit, 2mbit, 5500kbit",
        ),
        ({"standard": "802.11g", "basic_rate": "1mbit"}, "basic_rate", "802.11g has no rate"),
        ({"coherence": "5ms"}, "coherence", "must be 0s (a draw at each attempt) or at least 10ms"),
        ({"distance_m": 0.0}, "distance_m", "greater than 0"),
    ],
)
def test_a_fault_is_reported_at_its_place(values: dict[str, Any], path: str, why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        link(**values)
    (error,) = refused.value.errors()
    assert (error["loc"], why in error["msg"]) == ((path,), True), error
