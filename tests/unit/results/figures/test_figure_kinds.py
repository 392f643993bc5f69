"""Figures of values over runs, but for lines: bars, boxes, distributions, trade-offs, heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.kinds.registry import Kinds
from orchestrator.recording.model import TRANSFER_DTYPE
from results import figures
from results.figures import FIGURES, FigureSpec
from results.figures._drawing import content
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, drawn, figure, legend, study
from tests.support.recordings import flow, head, recording

LIMIT, CONTROL = "topology.bottleneck.queue.limit", "flows.a.congestion"
GRID = [
    {LIMIT: limit, CONTROL: control} for limit in ("1bdp", "2bdp") for control in ("reno", "bbr")
]
KEYS: dict[str, dict[str, Any]] = {
    "bars": {"metric": "goodput_bps", "by": "limit"},
    "box": {"metric": "goodput_bps", "by": "limit"},
    "cdf": {"metric": "goodput_bps"},
    "ccdf": {"metric": "goodput_bps"},
    "heatmap": {"metric": "jain_index", "by": ["limit", "congestion"]},
    "tradeoff": {},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def rates(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    factor = float(str(variant.get(LIMIT, "1bdp")).removesuffix("bdp"))
    return {"a": factor * (1e6 + 1e5 * repetition), "b": 3e6 - 1e5 * repetition**2}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KEYS))
@pytest.mark.parametrize(
    "form", ["pdf", *(pytest.param(each, marks=pytest.mark.long) for each in ("svg", "png"))]
)
def test_every_kind_draws_twice_the_same(store: Store, kind: str, form: str) -> None:
    make(store, rates, GRID, repetitions=4)
    keys = {**KEYS[kind], "file": f"fig.{form}", "width": "acm-wide"}
    data = drawn(store, kind, **keys)
    assert len(data) > 2000
    assert drawn(store, kind, **keys) == data


def test_bars_stand_in_groups_with_the_intervals_of_the_summary(store: Store) -> None:
    make(store, rates, GRID, repetitions=3)
    with canvas(store, "bars", metric="goodput_bps", by="limit", flow="a") as shown:
        (panel,) = shown.axes
        bars, _interval, others, _interval2 = panel.containers
        assert [bar.get_height() for bar in bars] == pytest.approx([1.1, 2.2], rel=1e-5)
        assert len(others) == 2
        assert [text.get_text() for text in panel.get_xticklabels()] == ["1", "2"]
        assert panel.get_xlabel() == "Queue limit (BDP)"
        assert legend(shown) == ["reno", "bbr"]


def test_bars_without_axes_are_flow_entries(store: Store) -> None:
    make(store, rates, repetitions=3)
    with canvas(store, "bars", metric="goodput_bps", names={"a": "Alpha"}) as shown:
        assert [text.get_text() for text in shown.axes[0].get_xticklabels()] == ["Alpha", "b"]


@pytest.mark.slow
def test_boxes_have_the_median_and_need_three_runs(store: Store) -> None:
    make(store, rates, GRID, repetitions=5)
    keys = {"metric": "goodput_bps", "by": "limit", "where": {"congestion": "bbr"}, "flow": "a"}
    with canvas(store, "box", **keys) as shown:
        medians = [
            line.get_ydata()[0] for line in shown.axes[0].lines if len(line.get_xdata()) == 2
        ]
        assert 1.2 in [pytest.approx(one, rel=1e-5) for one in medians]
    make(store, rates, GRID, repetitions=2, name="short")
    with pytest.raises(UsageError, match=r"too few runs: a box needs 3 .* have 2"):
        drawn(store, "box", "short", metric="goodput_bps", by="limit")


def test_a_distribution_over_runs_steps_at_each_value(store: Store) -> None:
    make(store, rates, repetitions=4)
    with canvas(store, "cdf", metric="goodput_bps", flow="a") as shown:
        (line,) = shown.axes[0].lines
        assert list(line.get_ydata()) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
        assert list(line.get_xdata()) == pytest.approx([1, 1, 1.1, 1.2, 1.3], rel=1e-5)
        assert shown.axes[0].get_xlabel() == "Goodput (Mbit/s)"
    with canvas(store, "ccdf", metric="goodput_bps", flow="a") as shown:
        (line,) = shown.axes[0].lines
        assert list(line.get_ydata())[:4] == pytest.approx([1, 0.75, 0.5, 0.25])
        assert shown.axes[0].get_yscale() == "log"


def test_a_distribution_of_rtts_has_the_samples_after_the_warm_up(store: Store) -> None:
    for repetition in (0, 1):
        rows = [
            {"time_s": time_s / 2, "flow": 0, "rtt_us": 1000 * (time_s + 100 * repetition)}
            for time_s in range(1, 20)
        ]
        run_id = store.begin(head(repetition=repetition, seed=repetition, windows=()))
        made = recording(rows, [], flows=[flow("a", stop_s=None)], digest=f"{repetition}")
        store.finish(run_id, replace(made, verdict="faithful"), 1.0)
    with canvas(store, "cdf", sample="rtt") as shown:
        (line,) = shown.axes[0].lines
        assert list(line.get_xdata())[1:] == pytest.approx([*range(4, 20), *range(104, 120)])
        assert line.get_ydata()[-1] == 1
        assert shown.axes[0].get_xlabel() == "RTT (ms)"


def test_transfers_that_do_not_end_are_counted(store: Store) -> None:
    transfers = np.zeros(4, TRANSFER_DTYPE)
    transfers["start_ns"] = [1e9, 3e9, 4e9, 9e9]  # the first is within the warm-up
    transfers["end_ns"] = [2e9, 5e9, 4.5e9, -1]
    made = recording([], [], flows=[flow("web", stop_s=None)], digest="d")
    run_id = store.begin(head(windows=()))
    store.finish(run_id, replace(made, verdict="faithful", transfers=transfers), 1.0)
    with canvas(store, "cdf", sample="transfers") as shown:
        (line,) = shown.axes[0].lines
        assert list(line.get_xdata())[1:] == [0.5, 2.0]
    source = study(store)
    content(figure("cdf", sample="transfers"), source)
    assert source.notes == ["left out: transfers that were not complete at the end of a run (1)"]


def test_an_ellipse_has_the_deviations_of_the_runs(store: Store) -> None:
    make(store, rates, repetitions=5)
    with canvas(store, "tradeoff", delay="goodput_bps", flow="a") as shown:
        (panel,) = shown.axes
        (ellipse,) = panel.patches
        values = np.array([1.0, 1.1, 1.2, 1.3, 1.4])  # equal on both axes: a line of 45 degrees
        assert ellipse.width == pytest.approx(2 * np.sqrt(2) * values.std(ddof=1), rel=1e-3)
        assert ellipse.height == pytest.approx(0, abs=1e-6)
        assert abs(ellipse.angle) % 180 == pytest.approx(45)
        left, right = panel.get_xlim()
        assert left > right  # less delay is better, and to the right
    make(store, rates, repetitions=2, name="short")
    source = study(store, "short")
    content(figure("tradeoff", delay="goodput_bps"), source)
    assert source.notes == ["no ellipse: 2 of 2 points have less than 3 runs"]


def test_a_heat_map_has_a_cell_for_each_pair(store: Store) -> None:
    make(store, rates, GRID[:3], repetitions=2)
    keys: dict[str, Any] = {
        "metric": "goodput_bps", "by": ["limit", "congestion"], "flow": "a",
    }  # fmt: skip
    with canvas(store, "heatmap", **keys) as shown:
        panel, bar = shown.axes
        data = panel.images[0].get_array()
        assert data.filled(-1).tolist() == [
            pytest.approx([1.05, 2.1], rel=1e-5), pytest.approx([1.05, -1], rel=1e-5),
        ]  # fmt: skip
        assert [text.get_text() for text in panel.get_yticklabels()] == ["reno", "bbr"]
        assert bar.get_ylabel() == "Goodput (Mbit/s)"
    with pytest.raises(UsageError, match="a heat map shows one of `a`, `b`: keep one by flow"):
        drawn(store, "heatmap", **{**keys, "flow": []})


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("cdf", {}, "give either `sample`"),
        ("cdf", {"sample": "rtt", "metric": "goodput_bps"}, "give either `sample`"),
        ("cdf", {"sample": "rtt", "window": "quiet"}, "`window` is of metrics"),
        ("heatmap", {"metric": "jain_index", "by": ["limit"]}, "at least 2"),
    ],
)
def test_wrong_keys(kind: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(kind, **keys)


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("cdf", {"sample": "transfers"}, "no transfers to draw: no flow's traffic makes"),
        ("cdf", {"sample": "rtt", "flow": "c"}, "there is no flow entry c; the entries are a, b"),
        ("cdf", {"metric": "goodput_bps", "where": {"limit": "1bdp"}}, "too few runs"),
        ("heatmap", {"metric": "jain_index", "by": ["limit", "limit"]}, "are the same axis"),
        ("bars", {"metric": "fct_mean_s"}, "no values of fct_mean_s"),
    ],
)
def test_what_the_runs_lack_is_named(
    store: Store, kind: str, keys: dict[str, Any], message: str
) -> None:
    make(store, rates, GRID, repetitions=1)
    with pytest.raises(UsageError, match=message):
        drawn(store, kind, **keys)


@pytest.mark.slow
def test_a_figure_is_one_new_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[4] / "docs" / "developing.md").read_text()
    (code,) = [
        block.partition("```")[0] for block in text.split("```python\n") if "PeakFigure" in block
    ]
    (tmp_path / "peak.py").write_text(code.replace("cwnd_max_segments", "goodput_bps"))
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    kinds = Kinds("figure", "results.figures", FigureSpec)  # type: ignore[type-abstract]
    assert set(kinds.found) == {*FIGURES.found, "peak"}
    peak = kinds.found["peak"].model_validate({"kind": "peak", "file": "peak.svg"})
    make(store, rates, GRID, repetitions=2)
    assert content(peak, study(store)).startswith(b"<?xml")
