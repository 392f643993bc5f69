"""What stands in which panel, on which line, in which colour: for pages and figures alike."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import UsageError
from results.arrangement import (
    COLOURS,
    DOUBTFUL,
    DRIFTS,
    FLOW,
    MOST_LINES,
    MOST_PANELS,
    Asked,
    Look,
    Words,
    arrange,
)
from results.axes import Axis, axes, shown

WORDS = Words(lambda subject: subject or "run", lambda axis, value: f"{axis.label} {shown(value)}")


def row(flow: str | None, mean: float | None = 1.0, **variant: Any) -> dict[str, Any]:
    values = [] if mean is None else [mean - 1, mean + 1]
    metric = {"mean": mean, "low": None, "high": None, "values": values, "n": len(values),
              "drifting": None, "runs": [f"{flow} {variant}"]}  # fmt: skip
    return {"variant": variant, "flow": flow, "link": None, "metrics": {"m": metric}}


def grid(**axes_: list[Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{}]
    for name, values in axes_.items():
        rows = [{**one, name: value} for one in rows for value in values]
    return rows


def document(rows: list[dict[str, Any]], crossings: list[dict[str, Any]] | None = None) -> Any:
    return {"rows": rows, "crossings": crossings or []}


def of(rows: list[dict[str, Any]]) -> dict[str, Axis]:
    return {axis.label: axis for axis in axes([one["variant"] for one in rows])}


def two_flows() -> list[dict[str, Any]]:
    """Two flows over limits, rates and controls."""
    variants = grid(limit=["1bdp", "2bdp"], rate=["10mbit", "20mbit"], cc=["bbr", "cubic"])
    return [row(flow, **variant) for variant in variants for flow in ("a", "b")]


def test_lines_of_a_flow_share_a_colour_and_differ_in_dashes() -> None:
    rows = two_flows()
    there = of(rows)
    made = arrange(document(rows), list(there.values()), Asked("m", there["limit"], FLOW), WORDS)
    looks = dict(made.legend)
    assert len(looks) == len(set(looks.values())) == 8
    assert {look.colour for name, look in looks.items() if name.startswith("a, ")} == {0}
    assert {look.colour for name, look in looks.items() if name.startswith("b, ")} == {1}
    assert looks["a, rate 10mbit, cc bbr"].dashes == looks["b, rate 10mbit, cc bbr"].dashes


def test_colours_of_an_axis_stay_when_a_condition_leaves_values_out() -> None:
    rows = two_flows()
    there = of(rows)
    asked = Asked("m", there["limit"], there["cc"])
    whole = dict(arrange(document(rows), list(there.values()), asked, WORDS).legend)
    part = [one for one in rows if one["variant"]["cc"] == "cubic"]
    kept = arrange(document(part), list(there.values()), asked, WORDS).legend
    assert {look.colour for name, look in whole.items() if "cubic" in name} == {1}
    assert {look.colour for _name, look in kept} == {1}


def test_a_panel_for_each_value_has_its_own_crossings() -> None:
    rows = two_flows()
    there = of(rows)
    crossing = {"axis": "limit", "metric": "m", "mean": 1.5, "low": None, "high": None,
                "a": "a", "b": "b"}  # fmt: skip
    found = [{**crossing, "variant": {"rate": "20mbit", "cc": "bbr"}},
             {**crossing, "variant": {"rate": "10mbit", "cc": "bbr"}, "a": "c"},
             {**crossing, "variant": {"rate": "10mbit", "cc": "bbr"}, "axis": "rate"}]  # fmt: skip
    asked = Asked("m", there["limit"], FLOW, there["rate"])
    made = arrange(document(rows, found), list(there.values()), asked, WORDS)
    assert [panel.title for panel in made.panels] == ["rate 10mbit", "rate 20mbit"]
    assert [len(panel.crossings) for panel in made.panels] == [0, 1]
    assert [len(panel.lines) for panel in made.panels] == [4, 4]
    assert [name for name, _look in made.legend] == [
        "a, cc bbr", "b, cc bbr", "a, cc cubic", "b, cc cubic",
    ]  # fmt: skip
    assert len({id(point) for point in made.points()}) == len(rows)


def test_a_variant_without_the_axis_has_a_panel_of_its_own() -> None:
    rows = [row("a", x="1bdp"), row("a", x="1bdp", loss="1%"), row("a", x="2bdp")]
    there = of(rows)
    asked = Asked("m", there["x"], FLOW, there["loss"])
    made = arrange(document(rows), list(there.values()), asked, WORDS)
    assert [panel.title for panel in made.panels] == ["loss 1%", "without loss"]


def test_points_are_in_the_order_of_the_axis_and_without_means_left_out() -> None:
    rows = [row("a", x="4bdp", mean=4), row("a", x="1bdp", mean=1), row("a", x="2bdp", mean=None)]
    there = of(rows)
    made = arrange(document(rows), list(there.values()), Asked("m", there["x"], FLOW), WORDS)
    (panel,) = made.panels
    (line,) = panel.lines
    assert [(point.place, point.value) for point in line.points] == [(0, "1bdp"), (1, "4bdp")]
    assert made.x_values == ["1bdp", "4bdp"]
    assert list(line.points[0].ends) == [1, 1]
    assert line.points[0].known == [0, 2]


@pytest.mark.parametrize("colour", [None, FLOW])
def test_more_lines_than_can_be_told_apart_are_named(colour: Any) -> None:
    rows = [row(f"f{number:02}", x="1bdp") for number in range(MOST_LINES + 3)]
    there = of(rows)
    made = arrange(document(rows), list(there.values()), Asked("m", there["x"], colour), WORDS)
    most = COLOURS if colour is None else MOST_LINES
    assert len({look for _name, look in made.legend}) == len(made.legend) == most
    assert made.lines_left_out == [one["flow"] for one in rows[most:]]


def test_looks_that_would_be_equal_get_the_next_free_one() -> None:
    rows = [row("a", x="1bdp", delay=f"{number}ms") for number in range(7)]  # of one colour
    there = of(rows)
    made = arrange(document(rows), list(there.values()), Asked("m", there["x"], FLOW), WORDS)
    looks = [look for _name, look in made.legend]
    assert looks[:5] == [Look(0, dashes) for dashes in range(5)]
    assert len(set(looks)) == 7


def test_panels_beyond_the_most_are_named() -> None:
    rows = [row("a", x="1bdp", y=number) for number in range(MOST_PANELS + 2)]
    there = of(rows)
    asked = Asked("m", there["x"], FLOW, there["y"])
    made = arrange(document(rows), list(there.values()), asked, WORDS)
    assert len(made.panels) == MOST_PANELS
    assert made.panels_left_out == [f"y {MOST_PANELS}", f"y {MOST_PANELS + 1}"]


def test_drift_and_doubt_are_signs_of_a_point() -> None:
    rows = [row("a", x="1bdp"), row("a", x="2bdp"), row("a", x="4bdp")]
    rows[0]["metrics"]["m"]["drifting"] = True
    there = of(rows)
    doubtful = {run for one in rows[:2] for run in one["metrics"]["m"]["runs"]}
    asked = Asked("m", there["x"], FLOW)
    made = arrange(document(rows), list(there.values()), asked, WORDS, doubtful)
    assert [point.signs for point in made.points()] == [[DRIFTS, DOUBTFUL], [DOUBTFUL], []]
    assert made.signs() == [DRIFTS, DOUBTFUL]
    assert arrange(document(rows[2:]), list(there.values()), asked, WORDS).signs() == []


@pytest.mark.parametrize(
    ("colour", "panels", "message"),
    [("x", None, "colour by x: this axis is the horizontal one"),
     (None, "x", "panels by x: this axis is the horizontal one"),
     ("y", "y", "colour by y: this axis makes the panels")],
)  # fmt: skip
def test_an_axis_is_asked_for_once(colour: str | None, panels: str | None, message: str) -> None:
    rows = [row("a", x="1bdp", y=1), row("a", x="2bdp", y=2)]
    there = of(rows)
    asked = Asked("m", there["x"], there.get(colour or ""), there.get(panels or ""))
    with pytest.raises(UsageError, match=message):
        arrange(document(rows), list(there.values()), asked, WORDS)
