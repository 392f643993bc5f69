"""Distributions by points of their cumulative distribution function, and uniform ones."""

from __future__ import annotations

import math
import random
from pathlib import Path
from statistics import NormalDist

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.distributions import Durations, Sizes
from orchestrator.kinds.files.empirical import tail
from orchestrator.kinds.files.known_sizes import KNOWN, mean
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.random_quantities import draw
from orchestrator.scenario import load
from orchestrator.scenario.loader import load_values

pytestmark = pytest.mark.slow

SCENARIO = """\
version: 1
name: sizes
duration: 10s
topology:
  kind: dumbbell
  bottleneck: {rate: 100mbit, delay: 1ms, queue: {limit: 100p}}
  groups:
    - {name: a, hosts: 2, rtt: 4ms}
flows:
  - {name: web, group: a, traffic: {kind: transfers, TRAFFIC}}
"""
POINTS = ((1000.0, 0.25), (2000.0, 0.75), (10_000.0, 1.0))


def planned(folder: Path, traffic: str) -> RunSpec:
    file = folder / "sizes.yaml"
    file.write_text(SCENARIO.replace("TRAFFIC", traffic))
    (run,) = plan(load(file)).runs
    return run


def fault(folder: Path, traffic: str) -> str:
    with pytest.raises(ScenarioError) as error:
        planned(folder, traffic)
    return str(error.value)


def test_the_mean_and_the_tail_are_those_of_lines_between_points() -> None:
    # A quarter is 1000, a half lies evenly up to 2000, and a quarter from there to 10000.
    assert mean(POINTS) == 0.25 * 1000 + 0.5 * 1500 + 0.25 * 6000
    assert [tail(POINTS, least) for least in (1000, 1500, 2000, 6000, 10_001)] == [
        1.0, 0.5, 0.25, 0.125, 0.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mean_bytes"), [("websearch", 1.711e6), ("data-mining", 7.470e6), ("hadoop", 1.204e5)]
)
def test_known_distributions_have_their_published_means(name: str, mean_bytes: float) -> None:
    assert mean(KNOWN[name]) == pytest.approx(mean_bytes, rel=1e-3)


@pytest.mark.parametrize("name", KNOWN)
def test_known_distributions_rise_to_one(name: str) -> None:
    sizes, shares = zip(*KNOWN[name], strict=True)
    assert list(sizes) == sorted(set(sizes))
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1


def drawn_sizes(name: str, number: int) -> list[int]:
    sizes, generator = Sizes.model_validate({"cdf": name}), random.Random(1)
    return [draw(generator, sizes.document(1)) for _ in range(number)]


def test_values_of_a_cache_follow_the_model_of_etc() -> None:
    """Atikoglu et al., SIGMETRICS 2012: shares of small sizes, and a generalized Pareto tail."""
    scale, shape, tail_share = 214.476, 0.348238, 1 - 0.44155
    drawn = drawn_sizes("cache", 100_000)
    for size, share in ((1, 0.00583), (2, 0.17820), (3, 0.09239), (4, 0.00018), (11, 0.08989)):
        assert drawn.count(size) / len(drawn) == pytest.approx(share, abs=4e-3), size
    assert min(drawn) == 1
    for size in (15, 100, 500, 5000, 50_000):
        model = tail_share * (1 + shape * (size - 15) / scale) ** (-1 / shape)
        assert tail(KNOWN["cache"], size) == pytest.approx(model, rel=2e-3)
        found = sum(one >= size for one in drawn) / len(drawn)
        assert found == pytest.approx(model, abs=4 * (model / len(drawn)) ** 0.5)
    small = 0.00583 + 2 * 0.17820 + 3 * 0.09239 + 4 * 0.00018 + 5 * 0.0274 + 6 * 0.00065
    small += 7 * 0.00606 + 8 * 0.00023 + 19 * 0.00837 + 11 * 0.08989 + 12 * 0.00092
    small += 13 * 0.00326 + 14 * 0.01980
    model = small + tail_share * (15 + scale / (1 - shape))
    assert mean(KNOWN["cache"]) - 0.5 == pytest.approx(model, rel=2e-3)
    # The deviation is 0.5 kB, so the mean of so many is known to 3.3 B with 95% confidence.
    assert sum(drawn) / len(drawn) == pytest.approx(model, abs=5)


def test_objects_of_web_pages_are_lognormal_between_their_ends() -> None:
    """3GPP2 C.R1002: its parameters are a logarithm's mean of 6.17 and a deviation of 2.36."""
    normal = NormalDist()
    middle, spread = 6.1657, 2.36253
    assert (round(middle, 2), round(spread, 2)) == (6.17, 2.36)
    low, high = ((math.log(end) - middle) / spread for end in (50, 2_000_000))
    within = normal.cdf(high) - normal.cdf(low)
    model = 7758 * (normal.cdf(high - spread) - normal.cdf(low - spread)) / within
    assert mean(KNOWN["web-object"]) == pytest.approx(model, rel=1e-3)
    drawn = drawn_sizes("web-object", 100_000)
    assert min(drawn) >= 50
    assert max(drawn) <= 2_000_000
    for size in (100, 1000, 10_000, 100_000):
        share = (normal.cdf(high) - normal.cdf((math.log(size) - middle) / spread)) / within
        assert sum(one >= size for one in drawn) / len(drawn) == pytest.approx(share, abs=0.005)
    # The deviation is 53 kB, so the mean of so many is known to 330 B with 95% confidence.
    assert sum(drawn) / len(drawn) == pytest.approx(model, abs=500)


def test_drawn_sizes_have_the_mean_and_the_quantiles_of_the_distribution() -> None:
    sizes = Sizes.model_validate({"cdf": "websearch"})
    generator = random.Random(1)
    drawn = sorted(draw(generator, sizes.document(1)) for _ in range(100_000))
    # The deviation is 3.9 MB, so the mean of so many is known to 0.025 MB with 95% confidence.
    assert sum(drawn) / len(drawn) == pytest.approx(sizes.average(), abs=25_000)
    assert drawn[50_000] == pytest.approx(73_077, rel=0.02)
    assert drawn[0] >= 0
    assert drawn[-1] <= 30_000_000
    for least in (80_000, 1_000_000, 10_000_000):
        share = sum(size >= least for size in drawn) / len(drawn)
        assert sizes.chance_of(least) == pytest.approx(share, abs=0.005)


def test_uniform_durations_lie_between_their_ends() -> None:
    jitter = Durations.model_validate({"distribution": "uniform", "most": "10us"})
    generator = random.Random(1)
    drawn = [draw(generator, jitter.document(1e9)) for _ in range(1000)]
    assert jitter.average() == pytest.approx(5e-6)
    assert 0 <= min(drawn) < 100
    assert 9_900 < max(drawn) <= 10_000


@pytest.mark.parametrize(
    "text",
    ["1000 0.25\n2000 0.75\n10000 1\n", "# bytes percent\n1000, 25\n2000 75 # half\n\n10000 100"],
)
def test_a_file_has_shares_or_percent(tmp_path: Path, text: str) -> None:
    (tmp_path / "sizes.txt").write_text(text)
    run = planned(tmp_path, "size: {cdf: sizes.txt}, arrivals: 1/s")
    (sizes,) = run.flows[0].traffic_parameters["sizes"]
    assert sizes["points"] == [[1000.0, 0.25], [2000.0, 0.75], [10_000.0, 1.0]]
    assert list(run.files) == ["sizes.txt"]
    flow = bed_spec(run, 2**30)["flows"][0]
    assert flow["parameters"]["sizes"][0]["distribution"] == "empirical"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1000 0.5\n900 1\n", "sizes.txt:2: a CDF does not fall"),
        ("1000 0.5\n2000 0.4\n", "sizes.txt:2: a CDF does not fall"),
        ("1000 0.5\n2000 0.9\n", "the last share must be 1, or 100 in percent, not 0.9"),
        ("1000 half\n", "sizes.txt:1: must be a number of bytes and a share"),
        ("1000\n", "sizes.txt:1: must be a number"),
        ("", "the last share must be 1"),
        ("0 1\n", "the largest size must be a byte or more"),
    ],
)
def test_a_file_that_is_no_distribution_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "sizes.txt").write_text(text)
    assert words in fault(tmp_path, "size: {cdf: sizes.txt}, arrivals: 1/s")


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ("size: {cdf: nowhere}, arrivals: 1/s", "hadoop, cache, web-object"),
        ("size: {distribution: empirical}, arrivals: 1/s", "an empirical distribution has a `cdf`"),
        ("size: {distribution: uniform}, arrivals: 1/s", "needs `most`, above `least`"),
        ("size: {distribution: uniform, mean: 1kB, most: 2kB}, arrivals: 1/s", "follows"),
        ("size: {distribution: pareto, shape: 2}, arrivals: 1/s", "is required"),
        ("size: {mean: 1kB, least: 1B}, arrivals: 1/s", "only a uniform distribution has a least"),
        ("size: 1kB, load: 50%, arrivals: 1/s", "transfers with a `load` arrive at random by it"),
        ("size: 1kB, load: 50%, gap: 1s", "transfers with a `load` arrive at random by it"),
        ("size: 1kB, every: 1s, gap: 1s", "transfers begin `every` so often"),
        ("size: {distribution: pareto, mean: 1kB, shape: 2}, load: 50%", "give `most`"),
        ("size: 1kB, gap: {distribution: empirical}", "only sizes can be empirical"),
        ("size: 1kB, gap: {distribution: mixture}", "only sizes can be mixture"),
        ("size: {distribution: mixture}, every: 1s", "a mixture has a `mix`"),
        ("size: {mean: 1kB, distribution: fixed, mix: [PART, PART]}, every: 1s", "no other dist"),
        ("size: {mix: [PART]}, every: 1s", "must have at least 2 items"),
        ("size: {mix: [PART, {share: 60%, size: 1kB}]}, every: 1s", "add up to 110%, not to 100%"),
        ("size: {mix: [{share: 0%, size: 1B}, {share: 1, size: 1B}]}, every: 1s", "above zero"),
        ("size: {mix: [PART, PART], mean: 1kB}, every: 1s", "that of a mixture distribution foll"),
        ("size: {mix: [PART, PART], most: 1MB}, every: 1s", "the sizes in `mix`"),
        ("size: {mix: [PART, {share: 50%, size: {mix: [PART, PART]}}]}, every: 1s", "unknown key"),
        ("size: {mix: [PART, {share: 50%, size: {cdf: no}}]}, every: 1s", "known distributions"),
        (
            "size: {mix: [PART, {share: 50%, size: {distribution: pareto, mean: 1B, shape: 2}}]}, "
            "load: 50%",
            "give `most`",
        ),
        ("size: 1kB, load: {share: 60%}", "`link` is missing"),
        ("size: 1kB, load: {share: 6mbit, link: bottleneck}", "a rate is the same on every link"),
        ("size: 1kB, load: {share: 60%, link: bottle}", "is not on the flow's path (did you mean"),
        ("size: 1kB, load: {share: 60%, link: bottle}", "with a rate there: bottleneck"),
        ("size: 1kB, load: {share: 60%, link: a_src0}", "link `a_src0` has no rate; with a rate"),
        ("size: 1kB, load: 60", "a rate needs a unit"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, traffic: str, words: str) -> None:
    assert words in fault(tmp_path, traffic.replace("PART", "{share: 50%, size: 1kB}"))


def test_a_load_becomes_a_rate_of_transfers_on_the_link_layer(tmp_path: Path) -> None:
    run = planned(tmp_path, "size: 14480B, load: 60%")
    # Ten full segments of 1514 bytes, four without data of 66, and 8 bytes of options in the SYN.
    wire_bytes = 10 * 1514 + 4 * 66 + 8
    for flow in run.flows:
        assert flow.traffic_parameters["arrivals_per_s"] == pytest.approx(
            0.6 * 100e6 / 2 / (8 * wire_bytes)
        )
        assert flow.connections == "many"


MIX = {
    "mix": [
        {"share": "75%", "size": "1kB"},
        {"share": "5%", "size": {"distribution": "uniform", "least": "1MB", "most": "3MB"}},
        {"share": "20%", "size": {"cdf": "hadoop"}},
    ]
}


def test_a_mixture_draws_each_part_as_often_as_its_share_says() -> None:
    sizes = Sizes.model_validate(MIX)
    assert sizes.average() == pytest.approx(750 + 100_000 + 0.2 * mean(KNOWN["hadoop"]))
    assert sizes.chance_of(1_000_001) == pytest.approx(0.05 + 0.2 * tail(KNOWN["hadoop"], 1e6 + 1))
    assert sizes.lost_by_rounding() == pytest.approx(0.125)
    generator = random.Random(1)
    drawn = [draw(generator, sizes.document(1)) for _ in range(100_000)]
    # Their deviation is 0.5 MB, so the mean of so many is known to 3.3 kB with 95% confidence.
    assert sum(drawn) / len(drawn) == pytest.approx(sizes.average(), abs=4000)
    assert drawn.count(1000) / len(drawn) == pytest.approx(0.75, abs=0.005)
    for least in (1001, 1_000_001, 2_000_000):
        share = sum(size >= least for size in drawn) / len(drawn)
        assert sizes.chance_of(least) == pytest.approx(share, abs=0.005)
    assert Sizes.model_validate(sizes.model_dump(mode="json", exclude_none=True)) == sizes


def test_a_mixture_is_drawn_with_the_files_of_its_parts(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000 25\n2000 100\n")
    mix = "[{share: 90%, size: 10kB}, {share: 10%, size: {cdf: sizes.txt}}]"
    run = planned(tmp_path, f"size: {{mix: {mix}}}, load: 20%")
    (sizes,) = run.flows[0].traffic_parameters["sizes"]
    assert sizes["distribution"] == "mixture"
    assert [(share, part["distribution"]) for share, part in sizes["parts"]] == [
        (0.9, "fixed"), (0.1, "empirical"),
    ]  # fmt: skip
    assert list(run.files) == ["sizes.txt"]
    assert bed_spec(run, 2**30)["flows"][0]["parameters"]["sizes"] == [sizes]
    files = {place: file.content for place, file in run.files.items()}
    (again,) = plan(load_values(run.resolved, files)).runs
    assert again.flows == run.flows


def test_a_load_may_be_a_share_of_a_named_link(tmp_path: Path) -> None:
    of_link = planned(tmp_path, "size: 14480B, load: {share: 60%, link: bottleneck}")
    narrowest = planned(tmp_path, "size: 14480B, load: 60%")
    assert of_link.flows == narrowest.flows
    assert of_link.resolved["flows"][0]["traffic"]["load"] == {
        "share": "60%", "link": "bottleneck",
    }  # fmt: skip
    (again,) = plan(load_values(of_link.resolved, {})).runs
    assert again.flows == of_link.flows
    scenario = SCENARIO.replace("rtt: 4ms", "access: {rate: 40mbit, delay: 1ms}")
    file = tmp_path / "sizes.yaml"
    file.write_text(scenario.replace("TRAFFIC", "size: 1kB, load: {share: 20%, link: bottleneck}"))
    (run,) = plan(load(file)).runs
    assert [flow.traffic_parameters["rate_bps"] for flow in run.flows] == [10_000_000] * 2


def test_the_schema_of_a_quantity_takes_its_value_alone_and_no_null() -> None:
    alone, _whole = Sizes.model_json_schema()["anyOf"]
    assert alone["type"] == "string"
