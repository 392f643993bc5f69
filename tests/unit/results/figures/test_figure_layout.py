"""What a reader can tell in figures: names, ticks, lines, the room of panels, and captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from results.figures import _canvas, _style
from results.figures._drawing import content
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, figure, legend, study

LIMIT, CONTROL = "topology.bottleneck.queue.limit", "flows.a.congestion"
QUEUE, RTT = "topology.bottleneck.queue", "rtt"
DROPTAIL = {"kind": "droptail", "limit": "1bdp"}
CODEL = {"kind": "fq_codel", "limit": "1000p"}
QUEUES = [{RTT: rtt, QUEUE: queue} for rtt in ("short", "long") for queue in (DROPTAIL, CODEL)]
LONG = {"droptail": "drop-tail of one BDP", "fq_codel": "FQ-CoDel with a limit of 1000 packets"}
GOODPUT = {"metric": "goodput_bps"}


def rates(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    factor = 2 if variant.get(RTT) == "long" else 1
    return {"a": factor * (1e6 + 1e5 * repetition), "b": 3e6 - 1e5 * repetition**2}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with two kinds of queue and two RTTs, in three repetitions."""
    with Store(tmp_path_factory.mktemp("layout") / "runs.db") as opened:
        make(opened, rates, QUEUES, repetitions=3)
        yield opened


def boxes(shown: Any, texts: Any) -> list[Any]:
    """Return the places of texts after the figure is laid out, from the left."""
    shown.canvas.draw()
    found = [text.get_window_extent() for text in texts if text.get_text()]
    return sorted(found, key=lambda box: box.x0)


@pytest.mark.parametrize("number", range(2, 25))
@pytest.mark.parametrize("width", sorted(_style.WIDTHS_IN))
def test_panels_are_as_many_beside_each_other_as_half_a_page_needs(number: int, width: str) -> None:
    """Twelve panels of a wide figure were 6.7 inches high, so that no page had room below text."""
    width_in = _style.WIDTHS_IN[width]
    rows, columns, height_in = _canvas._shape_of_grid(number, width_in)
    assert rows * columns >= number > rows * (columns - 1)
    assert height_in >= 0.449 * width_in / columns
    assert width_in / columns >= min(1.4, width_in / 2)
    whole_in = rows * (height_in + _canvas.TITLE_IN) + _canvas.LABEL_IN
    if width_in > 7 and number <= 20:
        assert whole_in <= _canvas.GRID_HEIGHT_IN + 0.01


def test_mappings_of_different_kinds_are_named_by_their_kind(store: Store) -> None:
    with canvas(store, "metric", **GOODPUT, by="rtt", flow="a") as shown:
        assert legend(shown) == ["droptail", "fq_codel"]
    with canvas(store, "metric", **GOODPUT, by="queue", flow="a", names=LONG) as shown:
        ticks = [text.get_text() for text in shown.axes[0].get_xticklabels()]
        assert [" ".join(tick.split()) for tick in ticks] == list(LONG.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("metric", {"by": "queue", "panels_by": ["rtt"]}),
        ("metric", {"by": "queue"}),
        ("bars", {"by": "queue"}),
        ("box", {"by": "queue"}),
        ("heatmap", {"by": ["queue", "rtt"], "flow": "a"}),
    ],
)
def test_long_names_are_beside_each_other_and_take_nothing_from_the_panels(
    store: Store, kind: str, keys: dict[str, Any]
) -> None:
    """They lay over each other, or were turned and left a stripe of the panels."""
    heights = []
    for names in (LONG, {}):
        with canvas(store, kind, **GOODPUT, **keys, names=names) as shown:
            panels = [panel for panel in shown.axes if panel.get_xticklabels()]
            placed = [box for panel in panels[:2] for box in boxes(shown, panel.get_xticklabels())]
            assert all(left.x1 <= right.x0 for left, right in pairwise(placed))
            heights.append(panels[0].get_window_extent().height)
    assert heights[0] >= 0.9 * heights[1]


def test_names_without_room_are_turned_and_the_figure_grows(store: Store) -> None:
    names = {"droptail": "a" * 60, "fq_codel": "b" * 60}
    with canvas(store, "bars", **GOODPUT, by="queue") as shown:
        short = shown.axes[0].get_window_extent().height
    with canvas(store, "bars", **GOODPUT, by="queue", names=names) as shown:
        shown.canvas.draw()
        assert {text.get_rotation() for text in shown.axes[0].get_xticklabels()} == {35}
        assert shown.axes[0].get_window_extent().height >= 0.8 * short


def test_shares_of_few_runs_have_plain_ticks(store: Store) -> None:
    """The ticks were 4 x 10^-1 and 6 x 10^-1."""
    with canvas(store, "ccdf", **GOODPUT, flow="a") as shown:
        shown.canvas.draw()
        ticks = [text.get_text() for text in shown.axes[0].get_yticklabels()]
        assert ticks == ["0.3", "0.5", "0.7", "1"]
        assert shown.axes[0].get_ylim()[1] == pytest.approx(1.0)


def test_lines_at_values_differ_from_each_other(store: Store) -> None:
    keys = {"reference": ["1mbit=least", "2mbit=most", "3mbit=least"], "reference_x": ["80ms=base"]}
    with canvas(store, "tradeoff", flow="a", **keys) as shown:
        handles = dict(zip(legend(shown), shown.legends[0].legend_handles, strict=True))
        dashes = {name: handles[name]._dash_pattern for name in ("least", "most", "base")}
        assert len({str(each) for each in dashes.values()}) == 3
        lines = [line for line in shown.axes[0].lines if len({*line.get_ydata()}) == 1
                 and len(line.get_ydata()) == 2]  # fmt: skip
        drawn_at = [str(line._dash_pattern) for line in lines]
        assert drawn_at == [str(dashes[name]) for name in ("least", "most", "least")]


def test_a_flat_box_has_the_colour_of_its_series(store: Store) -> None:
    """Of values that are nearly equal the black median alone was to be seen."""
    with canvas(store, "box", **GOODPUT, by="rtt", where={"queue": DROPTAIL}) as shown:
        medians = [line for line in shown.axes[0].lines if line.get_linewidth() == 1.6]
        colours = [to_hex(line.get_color()) for line in medians]
        assert colours == [_style.LINES[index].color for index in (0, 0, 1, 1)]


def test_a_few_values_on_a_linear_axis_have_a_tick_each(tmp_path: Path) -> None:
    """The axis of 5 ms and 20 ms had ticks at 5.0, 7.5, 10.0 and so on."""
    delay = "topology.bottleneck.delay"
    with Store(tmp_path / "runs.db") as opened:
        make(opened, rates, [{delay: "5ms"}, {delay: "20ms"}], repetitions=2)
        with canvas(opened, "metric", **GOODPUT, by="delay") as shown:
            shown.canvas.draw()
            panel = shown.axes[0]
            assert panel.get_xscale() == "linear"
            assert [text.get_text() for text in panel.get_xticklabels()] == ["5", "20"]


@pytest.mark.slow
def test_a_heat_map_writes_three_digits_of_each_mean(store: Store) -> None:
    with canvas(store, "heatmap", metric="goodput_bps", by=["rtt", "queue"], flow="b") as shown:
        assert {text.get_text() for text in shown.axes[0].texts} == {"2.83"}
    with canvas(store, "heatmap", metric="jain_index", by=["rtt", "queue"]) as shown:
        assert all(len(text.get_text()) == 5 for text in shown.axes[0].texts)


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("cdf", {"sample": "rtt"},
         "RTT: the share of samples up to each value, after the warm-up. A line has those of 3 runs"
         " together; they depend on each other, so it has no confidence interval."),
        ("ccdf", {"metric": "goodput_bps"},
         "Goodput: the share of runs above each value, of 3 runs, without intervals."),
        ("tradeoff", {"delay": "rtt_mean_s"},
         "Goodput against RTT mean: means over 3 runs. Ellipses are one standard deviation of the "
         "runs. Better is up and right."),
        ("box", {"metric": "goodput_bps"},
         "Goodput over 3 runs: median, quartiles, and whiskers of 1.5 times the box. Values outside"
         " are points."),
    ],
)  # fmt: skip
def test_captions_say_of_how_many_runs_and_what_intervals(
    store: Store, kind: str, keys: dict[str, Any], said: str
) -> None:
    by = {"by": "rtt"} if kind == "box" else {}
    spec, source = figure(kind, **keys, **by), study(store)
    assert len(content(spec, source)) > 2000
    assert spec.caption(source) == said


@pytest.mark.slow
def test_a_heat_map_says_how_wide_its_intervals_are(store: Store, tmp_path: Path) -> None:
    spec, source = figure("heatmap", **GOODPUT, by=["rtt", "queue"], flow="a"), study(store)
    content(spec, source)
    # 2, 2.2 and 2.4 Mbit/s: Student's quantile 4.303 times 0.2 / sqrt(3).
    assert spec.caption(source) == (
        "Goodput: means over 3 runs. The widest 95% interval is ± 0.497 Mbit/s "
        "(Student's t over runs)."
    )
    with Store(tmp_path / "runs.db") as opened:
        make(opened, rates, QUEUES, repetitions=1)
        spec, source = figure("heatmap", **GOODPUT, by=["rtt", "queue"], flow="a"), study(opened)
        content(spec, source)
        assert spec.caption(source) == (
            "Goodput. Each value is of a single run and has no interval."
        )
