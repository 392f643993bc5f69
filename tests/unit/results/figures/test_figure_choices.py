"""The metric figure with colours and panels by an axis, single repetitions, drift and doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from results.figures._drawing import content
from results.figures._style import LINES
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, drawn, figure, legend, study

LIMIT, RATE = "topology.bottleneck.queue.limit", "topology.bottleneck.rate"
GRID = [
    {LIMIT: limit, RATE: rate}
    for rate in ("10mbit", "20mbit", "50mbit")
    for limit in ("0.5bdp", "1bdp", "8bdp")
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def rates(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    rate = float(str(variant[RATE]).removesuffix("mbit")) * 1e6
    share = 0.8 - 0.05 * float(str(variant[LIMIT]).removesuffix("bdp")) + 0.01 * repetition
    return {"a": rate * share, "b": rate * (1 - share)}


@pytest.mark.slow
@pytest.mark.parametrize(("colour_by", "part"), [("flow", 0), ("rate", 1)])
def test_lines_share_colours_of_a_flow_or_of_an_axis(
    store: Store, colour_by: str, part: int
) -> None:
    make(store, rates, GRID, repetitions=2)
    with canvas(store, "metric", metric="goodput_bps", by="limit", colour_by=colour_by) as shown:
        lines = [bars.lines[0] for bars in shown.axes[0].containers]
        looks = [(line.get_color(), line.get_marker()) for line in lines]
        names = legend(shown)
    assert names == [f"{flow}, rate {rate} Mbit/s" for rate in (10, 20, 50) for flow in "ab"]
    assert len(set(looks)) == 6
    colours: dict[str, set[str]] = {}
    for name, (colour, _marker) in zip(names, looks, strict=True):
        colours.setdefault(name.split(", ")[part], set()).add(colour)
    assert all(len(each) == 1 for each in colours.values())
    assert len(set().union(*colours.values())) == len(colours)


@pytest.mark.slow
def test_panels_of_an_axis_share_their_scales(store: Store) -> None:
    make(store, rates, GRID, repetitions=2)
    keys: dict[str, Any] = {
        "metric": "goodput_bps",
        "by": "limit",
        "panels_by": "rate",
        "crossings": True,
    }
    with canvas(store, "metric", **keys, width="ieee-wide") as shown:
        assert [panel.get_title() for panel in shown.axes] == [
            "rate 10 Mbit/s", "rate 20 Mbit/s", "rate 50 Mbit/s",
        ]  # fmt: skip
        assert len({panel.get_ylim() for panel in shown.axes}) == 1
        assert [len(panel.patches) for panel in shown.axes] == [1, 1, 1]
        assert legend(shown) == ["a", "b"]
        assert shown.get_supxlabel() == "Queue limit (BDP)"
        assert shown.get_supylabel() == "Goodput (Mbit/s)"
    for form in ("svg", "png", "pdf"):
        data = drawn(store, "metric", **keys, file=f"fig.{form}")
        assert data == drawn(store, "metric", **keys, file=f"fig.{form}")


@pytest.mark.slow
@pytest.mark.parametrize("width", ["ieee", "ieee-wide"])
def test_a_legend_stays_in_the_figure_at_each_resolution(store: Store, width: str) -> None:
    limits = [{LIMIT: f"{10 * 2**power}p", RATE: rate} for power in range(8)
              for rate in ("1mbit", "2mbit")]  # fmt: skip
    make(store, lambda variant, _repetition: {"a": float(variant[LIMIT][:-1])}, limits, 1)
    keys = {"metric": "goodput_bps", "by": "rate", "colour_by": "limit"}
    with canvas(store, "metric", **keys, width=width) as shown:
        for dpi in (72, 100, 150, 300, 600):
            shown.set_dpi(dpi)
            shown.canvas.draw()
            place = shown.legends[0].get_window_extent()
            assert place.x0 >= 0, dpi
            assert place.x1 <= shown.get_figwidth() * dpi, dpi


@pytest.mark.slow
def test_eight_lines_of_a_flow_keep_its_colour(store: Store) -> None:
    """The sixth line of a flow had the colour of another one."""
    variants = [{LIMIT: limit, RATE: f"{rate}mbit"} for limit in ("1bdp", "2bdp")
                for rate in range(1, 9)]  # fmt: skip
    make(store, rates, variants, repetitions=1)
    keys = {"metric": "goodput_bps", "by": "limit", "colour_by": "flow"}
    with canvas(store, "metric", **keys) as shown:
        (panel,) = shown.axes
        looks = [(bars.lines[0].get_color(), bars.lines[0].get_marker())
                 for bars in panel.containers]  # fmt: skip
        names = legend(shown)
    assert len(set(looks)) == 16
    colours = {name[0]: {look[0] for other, look in zip(names, looks, strict=True)
                         if other[0] == name[0]} for name in names}  # fmt: skip
    assert colours == {"a": {LINES[0].color}, "b": {LINES[1].color}}


@pytest.mark.slow
def test_lines_that_cannot_be_told_apart_have_panels(store: Store) -> None:
    """Of 2 x 3 x 2 variants with two flows, 12 lines were refused."""
    delay = "topology.bottleneck.delay"
    variants = [{**one, delay: value} for one in GRID[:6] for value in ("5ms", "20ms")]
    make(store, rates, variants, repetitions=2)
    with canvas(store, "metric", metric="goodput_bps", by="rate") as shown:
        assert [panel.get_title() for panel in shown.axes] == [
            "queue limit 0.5 BDP", "queue limit 1 BDP", "queue limit 8 BDP",
        ]  # fmt: skip
        assert [len(panel.containers) for panel in shown.axes] == [4, 4, 4]
    source = study(store)
    content(figure("metric", metric="goodput_bps", by="rate"), source)
    assert source.notes == ["panels by limit: 12 lines are too many for one"]
    with canvas(
        store, "metric", metric="goodput_bps", by="rate", panels_by=["delay", "flow"]
    ) as it:
        assert [panel.get_title() for panel in it.axes] == [
            "delay 5 ms, a", "delay 5 ms, b", "delay 20 ms, a", "delay 20 ms, b",
        ]  # fmt: skip


@pytest.mark.slow
def test_each_repetition_is_a_dot_of_its_line(store: Store) -> None:
    make(store, rates, GRID[:3], repetitions=4)
    with canvas(store, "metric", metric="goodput_bps", each=True) as shown:
        (panel,) = shown.axes
        dots = [line for line in panel.lines if line.get_marker() == "."]
        intervals = [bars.lines[2][0] for bars in panel.containers]
        for dot in dots:  # beside its interval and above it, so that it is seen
            place = dot.get_transform().transform((1, 0)) - panel.transData.transform((1, 0))
            assert place[0] * 72 / shown.dpi > dot.get_markersize() / 2
            assert dot.get_zorder() > max(interval.get_zorder() for interval in intervals)
        assert [len(line.get_xdata()) for line in dots] == [12, 12]
        assert [line.get_color() for line in dots] == [LINES[0].color, LINES[1].color]
        expected = [rates(GRID[0], repetition)["a"] / 1e6 for repetition in range(4)]
        assert list(dots[0].get_ydata())[:4] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_drifting_and_doubtful_means_have_signs_and_notes(store: Store) -> None:
    def rising(variant: Mapping[str, Any], repetition: int) -> dict[str, Any]:
        steady = rates(variant, repetition)
        return {**steady, "a": [1e6 * part for part in range(1, 21)]}

    make(store, rising, GRID[:2], repetitions=3)
    make(store, rates, GRID[2:3], repetitions=3, verdict="doubtful")
    keys = {"metric": "goodput_bps", "drift": True, "doubt": True}
    with canvas(store, "metric", **keys) as shown:
        assert [text.get_text() for text in shown.axes[0].texts] == ["~", "~", "?", "?"]
        assert legend(shown) == ["a", "b", "still drifts", "has doubtful runs"]
    source = study(store)
    content(figure("metric", **keys), source)
    assert source.notes == [
        "~: 2 of 6 means: still drifts", "?: 2 of 6 means: has doubtful runs",
    ]  # fmt: skip
    with canvas(store, "metric", metric="goodput_bps") as shown:
        assert not shown.axes[0].texts
        assert legend(shown) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "message"),
    [({"panels_by": "limit"}, "this axis is the horizontal one already"),
     ({"colour_by": "limit"}, "this axis is the horizontal one already"),
     ({"colour_by": "rate", "panels_by": "rate"}, "this axis makes the panels already"),
     ({"colour_by": "delay"}, "there is no axis delay"),
     ({"panels_by": "delay"}, "there is no axis delay")],
)  # fmt: skip
def test_a_wrong_choice_is_named(store: Store, keys: dict[str, Any], message: str) -> None:
    make(store, rates, GRID, repetitions=2)
    with pytest.raises(UsageError, match=message):
        drawn(store, "metric", metric="goodput_bps", by="limit", **keys)


@pytest.mark.slow
def test_too_many_panels_are_refused(store: Store) -> None:
    variants = [
        {LIMIT: limit, RATE: f"{rate}mbit"} for rate in range(1, 27) for limit in ("1bdp", "2bdp")
    ]
    make(store, rates, variants, repetitions=1)
    with pytest.raises(UsageError, match="26 panels; keep at most 24"):
        drawn(store, "metric", metric="goodput_bps", by="limit", panels_by="rate")
