"""UDP sources: due times, random draws, counters of sinks, and validation of scenarios."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode import decode
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import ScenarioError
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan
from orchestrator.protocol.links import random_quantities as draws
from orchestrator.protocol.links.random_quantities import on_periods
from orchestrator.testbed.sampling import records
from orchestrator.testbed.traffic.udp import ArrivalCounter, packet_times, random_packet_times
from tests.support.smallest import FLOW_LINE, planned

FRAME_BITS = 1514 * 8
SECOND, BOTTLENECK_BPS = 10**9, 10e6
ALWAYS = {"on": None, "off": None}


def times(start: int, end: int, rate_bps: int, **periods: Any) -> list[int]:
    generator = random.Random(1)
    return list(
        packet_times(start, end, on_periods(generator, {**ALWAYS, **periods}), FRAME_BITS, rate_bps)
    )


def quantity(distribution: str, mean: int, shape: float | None = None) -> dict[str, Any]:
    return {"distribution": distribution, "mean": mean, "shape": shape}


@pytest.mark.slow
def test_packet_k_is_due_k_intervals_after_the_start_without_drift() -> None:
    found = times(5, 5 + 1000 * SECOND, 5_000_000)
    assert found[:3] == [5, 5 + 2_422_400, 5 + 4_844_800]
    assert len(found) == math.ceil(1000 * 5_000_000 / FRAME_BITS)
    # 7 Mbit/s gives an interval of no whole number of nanoseconds.
    found = times(0, 1000 * SECOND, 7_000_000)
    assert found[577_939] == 577_939 * FRAME_BITS * SECOND // 7_000_000


def test_a_packet_due_at_the_end_is_not_sent() -> None:
    interval = FRAME_BITS * SECOND // 1_000_000
    assert times(0, 3 * interval, 1_000_000) == [0, interval, 2 * interval]
    assert times(7, 7, 1_000_000) == []


def test_packets_keep_their_spacing_in_time_on() -> None:
    """With an interval of 12.112 ms in periods of 10 ms, only the time on counts."""
    on, off = quantity("fixed", 10_000_000), quantity("fixed", 90_000_000)
    found = times(0, 10 * SECOND, 1_000_000, on=on, off=off)
    assert found[:3] == [0, 100_000_000 + 2_112_000, 200_000_000 + 4_224_000]
    # 100 periods of 10 ms are one second at 1 Mbit/s.
    assert len(found) == math.ceil(1_000_000 / FRAME_BITS)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["exponential", "pareto"])
def test_the_mean_rate_is_rate_by_share_of_time_on(distribution: str) -> None:
    shape = 1.5 if distribution == "pareto" else None
    on, off = (quantity(distribution, mean, shape) for mean in (100_000_000, 200_000_000))
    periods = itertools.islice(on_periods(random.Random(7), {"on": on, "off": off}), 100_000)
    spent_on = spent = 0
    for on_ns, off_ns in periods:
        spent_on, spent = spent_on + on_ns, spent + on_ns + off_ns
    # Exponential: a relative error of 0.3%. The Pareto sums have infinite variance.
    assert spent_on / spent == pytest.approx(1 / 3, rel=0.01 if shape is None else 0.1)
    generator = random.Random(7)
    again = on_periods(generator, {"on": on, "off": off})
    sent = len(list(packet_times(0, spent, again, FRAME_BITS, 500_000)))
    assert sent == math.ceil(spent_on * 500_000 / (FRAME_BITS * SECOND))


def test_draws_have_their_distributions() -> None:
    generator = random.Random(5)
    assert {draws.draw(generator, quantity("fixed", 42)) for _ in range(9)} == {42}
    drawn = [draws.draw(generator, quantity("exponential", 10**8)) for _ in range(100_000)]
    assert statistics.fmean(drawn) == pytest.approx(10**8, rel=0.013)  # four standard errors
    assert statistics.pstdev(drawn) == pytest.approx(10**8, rel=0.03)
    assert sum(one > 2 * 10**8 for one in drawn) / 1e5 == pytest.approx(math.exp(-2), rel=0.03)


def poisson(start: int, end: int, rate_bps: int, seed: int = 3) -> list[int]:
    return list(random_packet_times(random.Random(seed), start, end, FRAME_BITS, rate_bps))


@pytest.mark.slow
def test_poisson_packets_are_as_many_as_their_mean_rate_says() -> None:
    """Over 2000 s 1 651 255 packets are expected; their number has a Poisson distribution."""
    mean = 2000 * 10_000_000 / FRAME_BITS
    assert len(poisson(0, 2000 * SECOND, 10_000_000)) == pytest.approx(mean, abs=4 * mean**0.5)
    counts = [len(poisson(0, SECOND, 1_000_000, seed)) for seed in range(2000)]
    each = 1_000_000 / FRAME_BITS
    assert statistics.fmean(counts) == pytest.approx(each, abs=4 * math.sqrt(each / 2000))
    # The variance of a Poisson number is its mean; the estimate's error is about sqrt(2 / n).
    assert statistics.variance(counts) == pytest.approx(each, rel=4 * math.sqrt(2 / 2000))


@pytest.mark.slow
def test_poisson_gaps_are_exponential_from_the_start_on() -> None:
    """The statistic of Kolmogorov and Smirnov is below its limit at a level of 0.1%."""
    mean_ns = FRAME_BITS * SECOND / 5_000_000
    begin = 7 * SECOND
    due = [begin, *poisson(begin, begin + 500 * SECOND, 5_000_000)]
    gaps = sorted(later - sooner for sooner, later in itertools.pairwise(due))
    number = len(gaps)
    below = [1 - math.exp(-gap / mean_ns) for gap in gaps]
    farthest = max(
        max((place + 1) / number - share, share - place / number)
        for place, share in enumerate(below)
    )
    assert number > 200_000
    assert farthest < 1.95 / number**0.5
    # Successive gaps are independent: their correlation's standard error is 1 / sqrt(n).
    gaps = [later - sooner for sooner, later in itertools.pairwise(due)]
    assert abs(statistics.correlation(gaps[:-1], gaps[1:])) < 4 / number**0.5


def test_poisson_packets_depend_on_the_seed_and_end_before_the_end() -> None:
    found = poisson(5, SECOND, 1_000_000)
    assert found == poisson(5, SECOND, 1_000_000) != poisson(5, SECOND, 1_000_000, seed=4)
    assert poisson(5, found[9], 1_000_000) == found[:9]
    assert poisson(5, found[9] + 1, 1_000_000) == found[:10]
    # At half the rate every gap is twice as long, and no gap depends on those before it.
    half = poisson(0, 2 * SECOND, 500_000)
    assert half[9] == pytest.approx(2 * (found[9] - 5), abs=3)


def test_pareto_draws_have_their_tail_index() -> None:
    generator = random.Random(5)
    drawn = [draws.draw(generator, quantity("pareto", 10**8, 1.5)) for _ in range(100_000)]
    least = 10**8 * 0.5 / 1.5
    assert min(drawn) == pytest.approx(least, rel=1e-4)
    # The Hill estimator over all draws, whose standard error is shape / sqrt(n).
    hill = len(drawn) / sum(math.log(one / least) for one in drawn)
    assert hill == pytest.approx(1.5, abs=4 * 1.5 / math.sqrt(len(drawn)))
    # The mean exists but converges like n^-1/3; the median does not depend on the tail.
    assert statistics.median(drawn) == pytest.approx(least * 2 ** (1 / 1.5), rel=0.01)


def test_a_sink_distinguishes_lost_reordered_and_duplicate_packets() -> None:
    arrived = ArrivalCounter()
    arrived.count([(0, 0, 10), (1, 100, 112), (4, 400, 409), (3, 300, 420), (4, 400, 421)])
    assert arrived.packets == 4
    expected, reordered, duplicates, total, _squares, changes, least, most = arrived.counters()
    assert (expected, reordered, duplicates) == (5, 1, 1)
    assert (total, changes, least, most) == (10 + 12 + 9 + 120, 2 + 3 + 111, 9, 120)
    assert arrived.counters()[-2:] == (-1, -1)
    arrived.count([(5, 500, 505_000)])
    assert arrived.counters()[4] == (504_500**2 + 10**2 + 12**2 + 9**2 + 120**2) // 10**6
    assert arrived.counters()[-3] == 116 + 504_380


def test_counters_and_transfers_are_decoded_as_the_bed_wrote_them(tmp_path: Path) -> None:
    written = records.Records(str(tmp_path))
    written.datagrams(5, 2, range(12))
    written.transfer(1, 7, -1, 300)
    written.transfer(0, 9, 30, 200)
    written.close()
    (row,) = decode.datagrams(OutputFolder(tmp_path))
    assert (row["time_ns"], row["flow"], row["sent_packets"], row["delay_max_ns"]) == (5, 2, 0, 11)
    assert decode.transfers(OutputFolder(tmp_path)).tolist() == [(0, 9, 30, 200), (1, 7, -1, 300)]


def test_a_share_is_of_the_narrowest_link_on_the_path(tmp_path: Path) -> None:
    for group, rate_bps in (("a", 7_600_000), ("b", 9_500_000)):
        run = planned(tmp_path, "{kind: cbr, rate: 95%}", group=group)
        assert run.flows[0].traffic_parameters["rate_bps"] == rate_bps
    described = Plan("kinds", [run]).describe().runs[0].flows[0]
    assert (described.transport, described.rate_bps) == ("udp", 9_500_000)
    assert described.congestion is None


def test_the_parameters_of_a_udp_flow(tmp_path: Path) -> None:
    traffic = (
        "{kind: onoff-udp, rate: 0.5mbit, packet_size: 1000B, bytes: 1MB, on: 10s, "
        "off: {distribution: pareto, mean: 200ms, shape: 1.5}}"
    )
    run = planned(tmp_path, traffic)
    (flow,) = bed_spec(run, 2**30)["flows"]
    assert (flow["engine"], flow["congestion"]) == ("udp", None)
    assert flow["parameters"] == {
        "packet_bytes": 1000,
        "bytes": 1_000_000,
        "rate_bps": 500_000,
        "on": quantity("fixed", 10 * SECOND),
        "off": quantity("pareto", 200_000_000, 1.5),
    }
    assert run.tcp_rows == 0
    # The stored scenario gives the same run again.
    assert "congestion" not in run.resolved["flows"][0]
    assert run.resolved["flows"][0]["traffic"]["on"] == "10s"


def test_the_parameters_of_a_poisson_flow(tmp_path: Path) -> None:
    traffic = "{kind: poisson, rate: 50%, packet_size: 1000B, bytes: 1MB}"
    (flow,) = bed_spec(planned(tmp_path, traffic), 2**30)["flows"]
    assert (flow["engine"], flow["congestion"]) == ("udp", None)
    assert flow["parameters"] == {
        "packet_bytes": 1000,
        "bytes": 1_000_000,
        "rate_bps": 4_000_000,
        "on": None,
        "off": None,
        "exponential_gaps": True,
    }


def test_the_estimate_counts_sent_packets_even_if_they_are_lost(tmp_path: Path) -> None:
    few_s = wall_s(planned(tmp_path, "{kind: cbr, rate: 8bit}"))
    run = planned(tmp_path, "{kind: cbr, rate: 1gbit, packet_size: 111B}")
    # The packets cross three links, of which the second is the bottleneck.
    crossing = 1.4e-6 * 3 * BOTTLENECK_BPS / 8 / 125
    sent = 7e-6 * 1e6
    assert wall_s(run) - few_s == pytest.approx(run.duration_s * (sent + crossing), rel=1e-3)
    random_s = wall_s(planned(tmp_path, "{kind: poisson, rate: 1gbit, packet_size: 111B}"))
    assert random_s == wall_s(run)
    half = planned(tmp_path, "{kind: onoff-udp, rate: 1gbit, packet_size: 111B, on: 1ms, off: 3ms}")
    quarter_s = run.duration_s * (sent / 4 + crossing)
    assert wall_s(half) - few_s == pytest.approx(quarter_s, rel=1e-3)


@pytest.mark.parametrize(
    ("traffic", "more", "message"),
    [
        (
            "{kind: cbr, rate: 5mbit}",
            "congestion: cubic, ",
            "kind cbr uses UDP, which has no congest",
        ),
        ("{kind: cbr, rate: 95}", "", "or a share of the link's rate, such as `95%`"),
        ("{kind: cbr, rate: 0.0001%}", "", "a share of a link's rate is 0.001% to 10000%"),
        ("{kind: cbr, rate: 1mbit, packet_size: 10kB}", "", "a packet has 44B (IP, UDP, seq"),
        ("{kind: cbr}", "", "`rate` is missing"),
        ("{kind: poisson}", "", "`rate` is missing"),
        ("{kind: poisson, rate: 5/s}", "", "`5/s`"),
        ("{kind: poisson, rate: 1mbit, packet_size: 40B}", "", "a packet has 44B (IP, UDP, seq"),
        ("{kind: poisson, rate: 1mbit, on: 1s}", "", "unknown key `on`"),
        ("{kind: onoff-udp, rate: 1mbit, on: 1s}", "", "`off` is missing"),
        ("{kind: onoff-udp, rate: 1mbit, on: 0s, off: 1s}", "", "must be above zero"),
        ("{kind: onoff-udp, rate: 1mbit, on: 1s, off: 999ns}", "", "at least 1us on average"),
        (
            "{kind: onoff-udp, rate: 1mbit, off: 1s, on: {distribution: pareto, mean: 1s}}",
            "",
            "a Pareto distribution needs a `shape` above 1",
        ),
        (
            "{kind: onoff-udp, rate: 1mbit, off: 1s, on: {mean: 1s, shape: 2}}",
            "",
            "only a Pareto distribution has a shape, not fixed",
        ),
    ],
)
def test_bad_input_is_explained(tmp_path: Path, traffic: str, more: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, traffic, more)
    (fault,) = caught.value.faults
    assert message in fault.message
    assert fault.line == FLOW_LINE


def test_a_share_needs_a_rate_on_the_path(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is below 8 bit/s"):
        planned(tmp_path, "{kind: cbr, rate: 95%}", group="b", rate="8bit")
