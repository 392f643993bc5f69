"""Jitter, reordering, duplication and corruption: settings in the kernel, and refused values."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.compile.netem import netem_document, netem_provenance
from orchestrator.compile.schedule import planned_steps
from orchestrator.kinds import jitter_tables
from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.network import Channel
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links import netem
from orchestrator.protocol.links.netem import TABLE_SCALE, jitter_settings, packed_table
from orchestrator.scenario import load
from orchestrator.testbed.network.queues import qdisc
from tests.support.smallest import LINK_LINE, link_faults

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
BOTTLENECK = "topology.bottleneck."


def run_of(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, [BOTTLENECK + override for override in overrides])).runs[0]


def channel(*overrides: str) -> Channel:
    """The forward channel of the quickstart's bottleneck, whose delay is 10 ms."""
    return run_of(*overrides).network.links[0].forward


def told(*overrides: str) -> dict[str, Any]:
    """Return netem's settings by their names."""
    document = netem_document(channel(*overrides), 1, 0, 0)
    assert document is not None
    return {setting["name"]: setting["value"] for setting in document["settings"]}


def test_a_link_has_no_impairments_and_no_netem_by_default() -> None:
    assert not channel().impaired
    assert netem_document(channel(), 1, 0, 0) is None
    lossy = told("loss=1%")
    assert set(lossy) == {"limit_packets", "loss_q32", "jitter_ticks", "delay_ns", "seed"}
    assert lossy["delay_ns"] == 10_000_000


def test_short_forms_equal_long_ones() -> None:
    assert channel("jitter=2ms").jitter == Jitter.model_validate("2ms")
    assert channel("reordering=1%").reordering == Reordering.model_validate("1%")
    assert channel("duplication=0.1%").duplication == 0.001
    assert channel("corruption=0.1%").corruption == 0.001


def test_each_direction_has_its_own_impairments() -> None:
    link = run_of(
        "jitter={forward: 2ms}",
        "reordering={reverse: 1%}",
        "duplication={forward: 0.1%}",
        "corruption={forward: 1%, reverse: 2%}",
    ).network.links[0]
    assert (link.forward.jitter is None, link.reverse.jitter is None) == (False, True)
    assert (link.forward.reordering is None, link.reverse.reordering is None) == (True, False)
    assert (link.forward.duplication, link.reverse.duplication) == (0.001, 0.0)
    assert (link.forward.corruption, link.reverse.corruption) == (0.01, 0.02)


@pytest.mark.parametrize(
    "written",
    [
        "jitter=2ms",
        "jitter=0ms",
        "jitter={spread: 2ms, distribution: pareto, keep_order: true, correlation: 1s}",
        "jitter={forward: 1ms, reverse: {spread: 2ms, keep_order: true}}",
        "reordering=1%",
        "reordering={gap: 5}",
        "duplication={forward: 1%}",
        "corruption=1e-6",
    ],
)
def test_a_resolved_scenario_gives_the_same_run(tmp_path: Path, written: str) -> None:
    run = run_of(written)
    file = tmp_path / "again.yaml"
    file.write_text(json.dumps(run.resolved))
    again = plan(load(file)).runs[0]
    assert again.network.links[0] == run.network.links[0]


def test_values_are_in_netems_units() -> None:
    values = told("jitter=2ms", "reordering={gap: 5, probability: 25%}", "duplication=1%",
                  "corruption=100e-6")  # fmt: skip
    assert values["jitter_ns"] == 2_000_000
    assert (values["reorder_gap_packets"], values["reorder_q32"]) == (5, 2**30 - 1)
    assert values["duplicate_q32"] == round(0.01 * 2**32) - 1
    assert values["corrupt_q32"] == round(1e-4 * 2**32) - 1
    assert told("reordering={gap: 5}")["reorder_q32"] == 2**32 - 1
    assert "rate_bytes_per_s" in told("jitter={spread: 1ms, keep_order: true}")


def test_the_fixed_structure_is_always_sent_whole() -> None:
    """struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter."""
    document = netem_document(channel("loss=1%", "reordering={gap: 3}", "duplication=50%"), 1, 0, 0)
    assert document is not None
    packed = qdisc.pack(document["settings"])
    words = np.frombuffer(packed[:24], "<u4").tolist()
    assert words == [0, 10_000_000, round(0.01 * 2**32) - 1, 3, 2**31 - 1, 0]


@pytest.mark.parametrize("name", ["normal", "pareto", "paretonormal"])
def test_tables_have_mean_0_and_standard_deviation_1(name: str) -> None:
    entries = np.array(jitter_tables.table(name)) / TABLE_SCALE
    assert len(entries) == 4096
    assert abs(entries.mean()) < 1e-4
    assert entries.std() == pytest.approx(1, abs=1e-4)
    assert np.abs(entries).max() < 4
    assert (np.diff(entries) >= 0).all()
    packed = packed_table(jitter_tables.table(name))
    assert np.frombuffer(packed, "<i2").tolist() == list(jitter_tables.table(name))


def test_tables_have_their_distributions() -> None:
    normal = np.array(jitter_tables.table("normal")) / TABLE_SCALE
    for share, quantile in ((0.5, 0.0), (0.8413447, 1.0), (0.9772499, 2.0), (0.0227501, -2.0)):
        assert normal[round(share * 4096)] == pytest.approx(quantile, abs=0.01)
    # Up to place and scale the quartiles are those of shape 3, but for the tail that is cut off.
    pareto = np.array(jitter_tables.table("pareto"))
    ratio = (pareto[3072] - pareto[1024]) / (pareto[2048] - pareto[1024])
    first, second, third = ((1 - share) ** (-1 / 3) for share in (0.25, 0.5, 0.75))
    assert ratio == pytest.approx((third - first) / (second - first), rel=0.05)
    both = np.array(jitter_tables.table("paretonormal")) / TABLE_SCALE
    assert both.min() < -2, "the normal quarter reaches below the least Pareto value"
    assert np.mean(both**3) > 1, "and the tail is the Pareto's"


@pytest.mark.parametrize(
    ("text", "low_ns", "high_ns"),
    [
        ("1ms", 1_000_000, 1_000_000),
        ("{spread: 1ms, distribution: normal}", 3_668_946, 3_668_946),
        ("{spread: 1ms, distribution: pareto}", 965_943, 3_999_878),
    ],
)
def test_a_jitters_reach_bounds_its_delays(text: str, low_ns: int, high_ns: int) -> None:
    jitter = channel(f"jitter={text}").jitter
    assert jitter is not None
    assert jitter.reach_ns == (low_ns, high_ns)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto", "paretonormal"])
def test_a_correlated_delay_has_its_distribution_and_its_correlation(distribution: str) -> None:
    jitter = Jitter.model_validate(
        {"spread": "2ms", "distribution": distribution, "correlation": "10ms"}
    )
    changes = list(jitter.changes(5, 100.0))
    assert changes == list(jitter.changes(5, 100.0)) != list(jitter.changes(6, 100.0))
    assert changes[0][0] == 0.0
    times = np.array([time_s for time_s, _settings in changes])
    offsets = np.array([offset_ns(drawn) for _time, drawn in changes])
    assert abs(offsets.mean()) < 5 * 2e6 / np.sqrt(len(offsets))
    deviation = 2e6 / np.sqrt(3) if distribution == "uniform" else 2e6
    assert offsets.std() == pytest.approx(deviation, rel=0.06)
    below, above = jitter.reach_ns
    assert -below <= offsets.min() <= offsets.max() <= above
    # Drawn anew at exponential intervals: the autocorrelation is exp(-t / 10 ms).
    grid = np.arange(0, 99.9, 0.001)
    path = offsets[np.searchsorted(times, grid, side="right") - 1] / deviation
    for lag_ms in (5, 10, 20):
        measured = np.mean(path[lag_ms:] * path[:-lag_ms])
        assert measured == pytest.approx(np.exp(-lag_ms / 10), abs=0.06)


def offset_ns(jitter: netem.Jitter) -> int:
    values = {setting.name: setting.value for setting in jitter_settings(jitter)}
    (entry,) = np.frombuffer(bytes.fromhex(str(values["jitter_table"])), "<i2").tolist()
    assert abs(entry) == TABLE_SCALE
    return int(values["jitter_ns"]) * (1 if entry > 0 else -1)


def test_a_jitter_without_correlation_is_drawn_for_each_packet() -> None:
    assert list(Jitter.model_validate("2ms").changes(5, 100.0)) == []
    assert planned_steps(run_of("jitter=2ms")) == []


def test_clocks_of_loss_and_jitter_share_a_timeline_in_the_order_of_time() -> None:
    steps = planned_steps(
        run_of("loss={kind: markov, bad_loss: 10%}", "jitter={spread: 1ms, correlation: 1s}")
    )
    times = [step["time_ns"] for step in steps]
    assert times == sorted(times)
    netem_steps = [step for step in steps if step["do"] == "netem"]
    assert len(netem_steps) == len(steps)
    kinds = {(step["channel"], step["settings"][0]["name"]) for step in netem_steps}
    channels = ("bottleneck:forward", "bottleneck:reverse")
    assert kinds == set(itertools.product(channels, ("loss_q32", "jitter_ns")))


def test_a_loss_model_that_loses_nothing_needs_no_netem() -> None:
    spec = run_of("loss={kind: markov, bad_loss: 0%}", "delay=0ms")
    assert netem_document(spec.network.links[0].forward, 1, 0, 0) is None
    assert planned_steps(spec) == []


def test_provenance_has_models_parameters_and_seeds() -> None:
    told = netem_provenance(run_of("loss={kind: markov, bad_loss: 10%}", "duplication=1%"))
    assert set(told) == {"bottleneck:forward", "bottleneck:reverse"}
    forward = told["bottleneck:forward"]
    assert forward["loss"] == {
        "kind": "markov", "good": "1s", "bad": "50ms", "good_loss": 0.0, "bad_loss": 0.1,
    }  # fmt: skip
    assert (forward["jitter"], forward["duplication"], forward["corruption"]) == (None, 0.01, 0.0)
    assert set(forward["seeds"]) == {"netem", "states"}
    seeds = [seed for each in told.values() for seed in each["seeds"].values()]
    assert len(set(seeds)) == 4
    assert netem_provenance(run_of()) == {}


REFUSED = [
    ("jitter: 1.5", 13, "a time needs a unit"),
    ("jitter: banana", 13, "is not a time"),
    ("jitter: 3s", 13, "2.147s at most"),
    ("jitter: {spread: 1ms, distribution: gamma}", 41, "uniform"),
    ("jitter: {spread: 1ms, correlation: 50%}", 40, "not of time"),
    ("jitter: {distribution: normal}", 13, "`spread` is missing"),
    ("jitter: 11ms", 13, "reaches 11ms below the delay of 10ms"),
    ("jitter: {reverse: 11ms}", 23, "reaches 11ms below"),
    ("jitter: {spread: 3ms, distribution: normal}", 13, "reaches 11006836ns below the delay"),
    ("jitter: {spread: 1ms, correlation: 100us}", 13, " states in"),
    ("reordering: 1.5", 17, "must not be above 100%"),
    ("reordering: banana", 17, "is not a probability"),
    ("reordering: 100%", 17, "no packet would be delayed at all"),
    ("reordering: {gap: 0}", 23, "at least 1"),
    ("duplication: 1.5", 18, "must be below 100%"),
    ("duplication: banana", 18, "is not a probability"),
    ("duplication: {forward: 1e-11}", 28, "the least probability it has"),
    ("corruption: 1.5", 17, "must be below 100%"),
    ("corruption: {reverse: banana}", 27, "is not a probability"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED, ids=[each[0] for each in REFUSED])
def test_an_impossible_value_is_refused_at_its_place(
    tmp_path: Path, text: str, column: int, message: str
) -> None:
    reported = link_faults(tmp_path, text)
    assert (LINK_LINE, column) in reported, reported
    assert message in reported[LINK_LINE, column]


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("{delay: 0ms, reordering: 1%}", "needs a `delay` above zero"),
        (
            "{delay: 5ms, jitter: {spread: 1ms, correlation: 1s}, "
            "loss: {kind: gilbert-elliott, mean_loss: 1%, mean_burst: 2}}",
            "is not supported with gilbert-elliott loss",
        ),
    ],
)
def test_contradictory_values_are_refused(tmp_path: Path, access: str, message: str) -> None:
    reported = link_faults(tmp_path, "", access)
    assert any(message in each for each in reported.values()), reported
    assert {line for line, _column in reported} == {LINK_LINE + 1}
