"""TCP traffic: random draws, parameters of engines, and validation of scenarios."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.distributions import Counts, Durations, Sizes
from orchestrator.kinds.traffic import TcpSegment
from orchestrator.kinds.traffic.web import Web
from orchestrator.planning.plan import plan, start_window_ns
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.random_quantities import draw, periods
from orchestrator.scenario import load
from tests.support import smallest

S = 10**9
SEGMENT = TcpSegment(1448, 66)

planned = partial(smallest.planned, hosts=2)


def parameters(run: RunSpec) -> dict[str, Any]:
    found: dict[str, Any] = bed_spec(run, 2**30)["flows"][0]["parameters"]
    return found


SIZES: dict[str, dict[str, Any]] = {
    "exponential": {"distribution": "exponential", "mean": "10kB"},
    "exponential, cut off": {"distribution": "exponential", "mean": "10kB", "most": "15kB"},
    "pareto": {"distribution": "pareto", "mean": "10kB", "shape": 2.5},
    "pareto, cut off": {"distribution": "pareto", "mean": "12kB", "shape": 1.2, "most": "50kB"},
    "lognormal": {"distribution": "lognormal", "mean": "10kB", "deviation": "8kB"},
    "lognormal, cut off": {
        "distribution": "lognormal", "mean": "10kB", "deviation": "30kB", "most": "40kB",
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("given", SIZES.values(), ids=SIZES)
def test_drawn_sizes_have_the_planned_mean_and_tail(given: dict[str, Any]) -> None:
    sizes = Sizes.model_validate(given)
    generator, number = random.Random(3), 100_000
    drawn = [draw(generator, sizes.document(1)) for _ in range(number)]
    error = statistics.pstdev(drawn) / math.sqrt(number)
    assert statistics.fmean(drawn) + 0.5 == pytest.approx(sizes.average(), abs=4 * error)
    for least in (1000, 5000, 9000, 14_000, 30_000):
        chance = sizes.chance_of(least)
        share = sum(size >= least for size in drawn) / number
        error = math.sqrt(chance * (1 - chance) / number)
        assert share == pytest.approx(chance, abs=4 * error + 1e-9)
    most = given.get("most")
    assert most is None or max(drawn) <= int(most[:-2]) * 1000
    assert sizes.chance_of(0) == 1


@pytest.mark.slow
def test_the_mean_is_the_integral_of_the_tail() -> None:
    """The closed form equals the sum of P(X >= n) over whole n: the mean minus 1/2."""
    for given in SIZES.values():
        sizes = Sizes.model_validate({**given, "most": "60kB"})
        total = math.fsum(sizes.chance_of(n) for n in range(1, 60_001))
        assert total + 0.5 == pytest.approx(sizes.average(), rel=1e-5)


def test_counts_are_whole_and_at_least_one() -> None:
    assert Counts.model_validate(3).average_count() == 3
    counts = Counts.model_validate({"distribution": "exponential", "mean": 2})
    # The floor of an exponential number is geometric; a number below one counts as one.
    ratio = math.exp(-1 / 2)
    assert counts.average_count() == pytest.approx(ratio / (1 - ratio) + 1 - ratio)


def test_the_bytes_of_a_web_session_include_all_frames() -> None:
    """The reference is the sum over every size that can be drawn."""
    web = Web.model_validate(
        {
            "kind": "web",
            "load": "30%",
            "response": {"distribution": "pareto", "mean": "4kB", "shape": 1.2, "most": "20kB"},
            "objects": 3,
            "pages": {"distribution": "exponential", "mean": 2},
        }
    )
    tails = [web.response.chance_of(n) for n in range(1, 20_002)]
    chances = [a - b for a, b in itertools.pairwise(tails)]
    each = math.fsum(chance * (n + 66 * -(-n // 1448)) for n, chance in enumerate(chances, start=1))
    expected = 3 * web.pages.average_count() * each + 4 * 66 + 8
    assert web.wire_bytes(SEGMENT) == pytest.approx(expected, rel=1e-4)


def test_periods_are_as_given_or_drawn_in_turn() -> None:
    listed = {"intervals": [(5, 9), (12, 20)]}
    assert list(periods(random.Random(1), listed)) == [(5, 9), (12, 20)]
    fixed = {"distribution": "fixed", "mean": 3, "shape": None}
    given = {"intervals": None, "on": fixed, "off": {**fixed, "mean": 4}}
    assert list(itertools.islice(periods(random.Random(1), given), 3)) == [
        (0, 3),
        (7, 10),
        (14, 17),
    ]
    on = Durations.model_validate({"distribution": "exponential", "mean": "1s"}).document(1e9)
    found = list(itertools.islice(periods(random.Random(1), {**given, "on": on}), 10_000))
    lengths = [end - begin for begin, end in found]
    assert statistics.fmean(lengths) == pytest.approx(S, rel=0.04)  # four standard errors
    assert {b[0] - a[1] for a, b in itertools.pairwise(found)} == {4}


def test_a_load_becomes_sessions_of_the_narrowest_links_rate(tmp_path: Path) -> None:
    run = planned(tmp_path, "{kind: web, load: 30%, response: 5kB}")
    found = parameters(run)
    session_bytes = 5000 + 4 * 66 + 4 * 66 + 8
    assert found["rate_bps"] == 1_200_000  # 30% of 8 Mbit/s, and the entry has two flows
    assert found["arrivals_per_s"] == pytest.approx(1_200_000 / 8 / session_bytes)
    assert (run.flows[0].server, run.flows[0].connections) == ("source", "many")
    # Smaller segments have more headers.
    small = planned(tmp_path, "{kind: web, load: 30%, response: 5kB}", "tcp: {mss: 1000}, ")
    session_bytes = 5000 + 6 * 66 + 4 * 66 + 8
    assert parameters(small)["arrivals_per_s"] == pytest.approx(1_200_000 / 8 / session_bytes)
    by_rate = planned(tmp_path, "{kind: web, sessions: 30/min, response: 5kB}")
    assert parameters(by_rate)["arrivals_per_s"] == 0.5


def test_the_flows_of_an_entry_share_its_load(tmp_path: Path) -> None:
    def rates(load: str, more: str, *overrides: str) -> list[tuple[int, float]]:
        run = planned(tmp_path, f"{{kind: web, load: {load}, response: 5kB}}", more, *overrides)
        flows = bed_spec(run, 2**30)["flows"]
        return [(f["parameters"]["rate_bps"], f["parameters"]["arrivals_per_s"]) for f in flows]

    (alone,) = rates("30%", "", "topology.groups.a.hosts=1")
    assert alone[0] == 2_400_000
    for shared in (rates("30%", "count: 3, "), rates("2400kbit", "count: 3, ")):
        assert len(shared) == 6
        assert {rate_bps for rate_bps, _arrivals in shared} == {400_000}
        assert sum(arrivals_per_s for _rate, arrivals_per_s in shared) == pytest.approx(alone[1])
    with pytest.raises(ScenarioError, match="64 bit/s for 10 flows is below 8 bit/s each"):
        rates("64bit", "count: 5, ")


@pytest.mark.parametrize(
    ("window", "more", "window_bytes"),
    [
        ("64p", "", 64 * 1448),
        ("64p", "tcp: {timestamps: false}, ", 64 * 1460),
        ("64p", "tcp: {mss: 1000}, ", 64 * 988),
        ("64kB", "", 64_000),
    ],
)
def test_a_window_is_in_segments_or_bytes(
    tmp_path: Path, window: str, more: str, window_bytes: int
) -> None:
    run = planned(tmp_path, f"{{kind: bulk, window: {window}}}", more)
    assert parameters(run)["window_bytes"] == window_bytes


def test_a_campaign_becomes_a_flow_for_each_control(tmp_path: Path) -> None:
    traffic = "{kind: campaign, controls: [reno, {name: westwood}], turn: 2s, idle: 3s, bytes: 1MB}"
    run = planned(tmp_path, traffic, "start: 1s, ")
    assert [(flow.name, flow.congestion, flow.start_s) for flow in run.flows] == [
        ("one-reno[0]", "reno", 1.0),
        ("one-reno[1]", "reno", 1.0),
        ("one-westwood[0]", "westwood", 3.0),
        ("one-westwood[1]", "westwood", 3.0),
    ]
    assert [flow.port for flow in run.flows] == [5001, 5002, 5003, 5004]
    found = parameters(run)
    assert (found["on"]["mean"], found["off"]["mean"]) == (2 * S, 5 * S)
    assert (found["reconnect"], found["period_bytes"], found["bytes"]) == (True, 1_000_000, None)
    assert {flow.connections for flow in run.flows} == {"sequential"}


def test_flows_of_an_entry_start_one_after_another_or_within_a_time(tmp_path: Path) -> None:
    bulk = "{kind: bulk}"
    run = planned(tmp_path, bulk, "start: 1s, stagger: 500ms, count: 2, ")
    assert [flow.start_s for flow in run.flows] == [1.0, 1.5, 2.0, 2.5]
    run = planned(tmp_path, bulk, "start: 1s, start_window: 5s, count: 50, ")
    starts = [flow.start_s for flow in run.flows]
    assert all(1 <= start <= 6 for start in starts)
    assert len(set(starts)) == 100
    assert min(starts) < 1.5 < 5.5 < max(starts)
    assert starts[7] == pytest.approx(1 + start_window_ns(1, 7, 5.0) / 1e9, abs=1e-12)
    again = planned(tmp_path, bulk, "start: 1s, start_window: 5s, count: 50, ", "seed=2")
    assert [flow.start_s for flow in again.flows] != starts


KINDS = {
    "bulk": "{kind: bulk, window: 64p, bytes: 3.2MB}",
    "onoff": "{kind: onoff, on: 5s, off: {distribution: pareto, mean: 1s, shape: 1.5, most: 9s}}",
    "onoff listed": "{kind: onoff, intervals: [[1s, 2s], [3s, 4s]], reconnect: true}",
    "transfers": "{kind: transfers, size: 10kB, gap: {distribution: exponential, mean: 1s}}",
    "transfers at random": "{kind: transfers, size: {distribution: lognormal, mean: 10kB, "
    "deviation: 9kB}, arrivals: 7/min, number: 9}",
    "uploads": "{kind: uploads, files: [3.2MB, 32MB], gap: 1s}",
    "web": "{kind: web, load: 30%, objects: {distribution: pareto, mean: 4, shape: 1.2, most: 50}, "
    "pages: 5, think: 1s}",
    "web sessions": "{kind: web, sessions: 0.3/s}",
    "request-response": "{kind: request-response, request: 1B, response: 1B, think: 5ms}",
    "campaign": "{kind: campaign, controls: [reno, cubic], turn: 1s}",
}


@pytest.mark.parametrize("traffic", KINDS.values(), ids=KINDS)
def test_what_is_stored_of_a_scenario_makes_the_same_run_again(
    tmp_path: Path, traffic: str
) -> None:
    run = planned(tmp_path, traffic)
    path = tmp_path / "again.yaml"
    path.write_text(json.dumps(run.resolved), encoding="utf-8")
    (again,) = plan(load(path)).runs
    assert bed_spec(again, 2**30) == bed_spec(run, 2**30)


@pytest.mark.parametrize(
    ("traffic", "more", "message"),
    [
        (
            "{kind: bulk, window: 1151B}",
            "",
            "`1151B`: a window may have 1 segment (1p) or 1152B to 256MiB; Linux limits no window "
            "to less",
        ),
        (
            "{kind: bulk, window: 2p}",
            "tcp: {mss: 500}, ",
            "2p is 976 bytes, as a segment has 488, and Linux has no limit below 1152 bytes: "
            "at least 3p",
        ),
        (
            "{kind: bulk, window: 1bdp}",
            "",
            "`bdp` is a unit of queue limit, not of window; valid units: p, B",
        ),
        ("{kind: bulk, window: 0p}", "", "a window must be above zero"),
        (
            "{kind: bulk, engine: iperf3, window: 9p}",
            "",
            "the engine iperf3 cannot limit its window",
        ),
        ("{kind: onoff, on: 1s}", "", "`off` is missing; or give `intervals`"),
        ("{kind: onoff, on: 1s, intervals: [[1s, 2s]]}", "", "either `on` and `off`, or `interva"),
        ("{kind: onoff, intervals: [[2s, 1s]]}", "", "an interval must begin before it ends"),
        ("{kind: onoff, intervals: [[1s, 3s], [2s, 4s]]}", "", "after the end of the one before"),
        ("{kind: transfers}", "", "`size` is missing"),
        ("{kind: transfers, size: 1kB, gap: 1s, arrivals: 1/s}", "", "have no gap between them"),
        (
            "{kind: transfers, size: 1kB, arrivals: 5}",
            "",
            "needs a unit (/s, /min, /h), such as `5",
        ),
        ("{kind: transfers, size: 1kB, arrivals: 0/s}", "", "must be above zero"),
        ("{kind: uploads, files: []}", "", "must have at least 1 item"),
        ("{kind: web}", "", "give either `load` or `sessions`"),
        ("{kind: web, load: 10%, sessions: 1/s}", "", "give either `load` or `sessions`"),
        (
            "{kind: web, load: 10%, response: {distribution: pareto, mean: 9kB, shape: 1.1}}",
            "",
            "the load of a heavy tail without end never settles: give `most`",
        ),
        ("{kind: transfers, size: {mean: 9kB, most: 10kB}}", "", "a fixed quantity is always its"),
        (
            "{kind: transfers, size: {distribution: exponential, mean: 9kB, most: 9kB}}",
            "",
            "must be above the mean",
        ),
        (
            "{kind: transfers, size: {distribution: lognormal, mean: 9kB}}",
            "",
            "a lognormal distribution needs a `deviation`",
        ),
        (
            "{kind: transfers, size: {mean: 9kB, deviation: 1kB}}",
            "",
            "only a lognormal distribution has one, not fixed",
        ),
        ("{kind: campaign, controls: [reno], turn: 1s}", "", "must have at least 2 items"),
        ("{kind: campaign, controls: [reno, reno], turn: 1s}", "", "reno has its turn already"),
        (
            "{kind: campaign, controls: [reno, bbr], turn: 1s}",
            "congestion: cubic, ",
            "traffic of kind campaign names its own congestion control",
        ),
        (
            "{kind: campaign, controls: [reno, bbr], turn: 20s}",
            "",
            "a flow of this entry may start as late as 20s, which is not before its end at 20s",
        ),
        (
            "{kind: bulk}",
            "stagger: 10s, count: 2, ",
            "may start as late as 20s, which is not before its end",
        ),
        ("{kind: bulk}", "start_window: 20s, ", "may start as late as 20s"),
        ("{kind: web, load: 1bit}", "", "the nearest is 8bit"),
    ],
)
def test_bad_input_is_explained(tmp_path: Path, traffic: str, more: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, traffic, more)
    assert message in str(caught.value)


def test_no_two_flows_have_one_name(tmp_path: Path) -> None:
    campaign = "{kind: campaign, controls: [reno, cubic], turn: 1s}}\n"
    other = "  - {name: one-reno, group: a, traffic: {kind: bulk}"
    with pytest.raises(
        ScenarioError, match=r"two flows are called `one-reno\[0\]`: .* flow entry 0"
    ):
        planned(tmp_path, campaign + other)


def test_a_kernel_has_a_modules_parameters_once_also_in_a_campaign(tmp_path: Path) -> None:
    def control(alpha: int) -> str:
        return f"{{name: logwestwood, parameters: {{alpha_max: {alpha}}}}}"

    campaign = f"{{kind: campaign, controls: [reno, {control(32)}], turn: 1s}}}}\n"
    other = f"  - {{name: two, group: a, congestion: {control(64)}, traffic: {{kind: bulk}}"
    with pytest.raises(ScenarioError, match="parameters of logwestwood hold for the whole kernel"):
        planned(tmp_path, campaign + other)
