"""What stands in which panel, on which line, in which colour: for pages and figures alike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from orchestrator.errors import UsageError
from results.experiment.left_out import LeftOut
from results.experiment.model import Crossing, Summary, SummaryRow
from results.layout.arrangement import DOUBTFUL, DRIFTS, MOST_PANELS, ArrangementRequest, arrange
from results.layout.line_styles import COLOURS, DASHES, FLOW, MOST_LINES, LineStyle
from results.layout.series import LegendLabels
from results.layout.small_multiples import chosen
from results.matrix.axes import Axis, axes, shown
from tests.support.experiments import metric

WORDS = LegendLabels(
    lambda subject: subject or "run", lambda axis, value: f"{axis.label} {shown(value)}"
)


def row(flow: str | None, mean: float | None = 1.0, **variant: Any) -> SummaryRow:
    values = [] if mean is None else [mean - 1, mean + 1]
    made = metric(mean, None, None, values, len(values))
    made = replace(made, drifting=None, runs=[f"{flow} {variant}"])
    return SummaryRow(variant, flow, None, len(values), LeftOut(), {"m": made})


def grid(**axes_: list[Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{}]
    for name, values in axes_.items():
        rows = [{**one, name: value} for one in rows for value in values]
    return rows


def summary(rows: Sequence[SummaryRow], crossings: Sequence[Crossing] = ()) -> Summary:
    return Summary("x", "", None, [], rows, crossings=crossings)


def of(rows: Sequence[SummaryRow]) -> dict[str, Axis]:
    return {axis.label: axis for axis in axes([one.variant for one in rows])}


def two_flows() -> list[SummaryRow]:
    """Two flows over limits, rates and controls."""
    variants = grid(limit=["1bdp", "2bdp"], rate=["10mbit", "20mbit"], cc=["bbr", "cubic"])
    return [row(flow, **variant) for variant in variants for flow in ("a", "b")]


def test_lines_of_a_flow_share_a_colour_and_differ_in_dashes() -> None:
    rows = two_flows()
    there = of(rows)
    made = arrange(
        summary(rows), list(there.values()), ArrangementRequest("m", there["limit"], FLOW), WORDS
    )
    looks = dict(made.legend)
    assert len(looks) == len(set(looks.values())) == 8
    assert {look.colour for name, look in looks.items() if name.startswith("a, ")} == {0}
    assert {look.colour for name, look in looks.items() if name.startswith("b, ")} == {1}
    assert looks["a, rate 10mbit, cc bbr"].dashes == looks["b, rate 10mbit, cc bbr"].dashes


def test_colours_of_an_axis_stay_when_a_condition_leaves_values_out() -> None:
    rows = two_flows()
    there = of(rows)
    asked = ArrangementRequest("m", there["limit"], there["cc"])
    whole = dict(arrange(summary(rows), list(there.values()), asked, WORDS).legend)
    part = [one for one in rows if one.variant["cc"] == "cubic"]
    kept = arrange(summary(part), list(there.values()), asked, WORDS).legend
    assert {look.colour for name, look in whole.items() if "cubic" in name} == {1}
    assert {look.colour for _name, look in kept} == {1}


def test_a_panel_for_each_value_has_its_own_crossings() -> None:
    rows = two_flows()
    there = of(rows)
    crossing = Crossing(
        {"rate": "20mbit", "cc": "bbr"}, "limit", "a", "b", "m", 1.5, None, None, 1, 1
    )
    other = replace(crossing, variant={"rate": "10mbit", "cc": "bbr"})
    found = [crossing, replace(other, a="c"), replace(other, axis="rate")]
    asked = ArrangementRequest("m", there["limit"], FLOW, (there["rate"],))
    made = arrange(summary(rows, found), list(there.values()), asked, WORDS)
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
    asked = ArrangementRequest("m", there["x"], FLOW, (there["loss"],))
    made = arrange(summary(rows), list(there.values()), asked, WORDS)
    assert [panel.title for panel in made.panels] == ["loss 1%", "without loss"]


def test_points_are_in_the_order_of_the_axis_and_without_means_left_out() -> None:
    rows = [row("a", x="4bdp", mean=4), row("a", x="1bdp", mean=1), row("a", x="2bdp", mean=None)]
    there = of(rows)
    made = arrange(
        summary(rows), list(there.values()), ArrangementRequest("m", there["x"], FLOW), WORDS
    )
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
    made = arrange(
        summary(rows), list(there.values()), ArrangementRequest("m", there["x"], colour), WORDS
    )
    most = COLOURS if colour is None else MOST_LINES
    assert len({look for _name, look in made.legend}) == len(made.legend) == most
    assert made.lines_left_out == [one.flow for one in rows[most:]]


def test_looks_that_would_be_equal_get_the_next_free_one() -> None:
    rows = [row("a", x="1bdp", delay=f"{number}ms") for number in range(7)]  # of one colour
    there = of(rows)
    made = arrange(
        summary(rows), list(there.values()), ArrangementRequest("m", there["x"], FLOW), WORDS
    )
    looks = [look for _name, look in made.legend]
    assert looks == [LineStyle(0, dashes) for dashes in range(7)]


def test_a_line_without_dashes_of_its_own_colour_is_said_to_have_another() -> None:
    rows = [row("a", x="1bdp", delay=f"{number}ms") for number in range(DASHES + 1)]
    there = of(rows)
    asked = ArrangementRequest("m", there["x"], FLOW)
    assert arrange(summary(rows), list(there.values()), asked, WORDS).mixed
    assert not arrange(summary(rows[1:]), list(there.values()), asked, WORDS).mixed


def test_panels_beyond_the_most_are_named() -> None:
    rows = [row("a", x="1bdp", y=number) for number in range(MOST_PANELS + 2)]
    there = of(rows)
    asked = ArrangementRequest("m", there["x"], FLOW, (there["y"],))
    made = arrange(summary(rows), list(there.values()), asked, WORDS)
    assert len(made.panels) == MOST_PANELS
    assert made.panels_left_out == [f"y {MOST_PANELS}", f"y {MOST_PANELS + 1}"]


def test_drift_and_doubt_are_signs_of_a_point() -> None:
    rows = [row("a", x="1bdp"), row("a", x="2bdp"), row("a", x="4bdp")]
    drifts = replace(rows[0].metrics["m"], drifting=True)
    rows[0] = replace(rows[0], metrics={"m": drifts})
    there = of(rows)
    doubtful = {run for one in rows[:2] for run in one.metrics["m"].runs}
    asked = ArrangementRequest("m", there["x"], FLOW)
    made = arrange(summary(rows), list(there.values()), asked, WORDS, doubtful)
    assert [point.signs for point in made.points()] == [[DRIFTS, DOUBTFUL], [DOUBTFUL], []]
    assert made.signs() == [DRIFTS, DOUBTFUL]
    assert arrange(summary(rows[2:]), list(there.values()), asked, WORDS).signs() == []


@pytest.mark.parametrize(
    ("colour", "panels", "message"),
    [("x", None, "colour by x: this axis is the horizontal one"),
     (None, "x", "panels by x: this axis is the horizontal one"),
     ("y", "y", "colour by y: this axis makes the panels")],
)  # fmt: skip
def test_an_axis_is_asked_for_once(colour: str | None, panels: str | None, message: str) -> None:
    rows = [row("a", x="1bdp", y=1), row("a", x="2bdp", y=2)]
    there = of(rows)
    asked = ArrangementRequest(
        "m", there["x"], there.get(colour or ""), (there[panels],) if panels else ()
    )
    with pytest.raises(UsageError, match=message):
        arrange(summary(rows), list(there.values()), asked, WORDS)


def crossed(flows: str, **axes_of: int) -> list[SummaryRow]:
    """Return a row for each flow and combination; an axis has as many values as given."""
    values = [
        [(name, f"{name}{number}") for number in range(count)] for name, count in axes_of.items()
    ]
    return [
        row(flow, **cast("dict[str, Any]", dict(each)))
        for each in itertools.product(*values)
        for flow in flows
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (crossed("ab", x=3, y=4), []),  # 8 lines: they can be told apart
        (crossed("ab", x=2, y=3, z=2), ["y"]),  # 4 lines in 3 panels, not 6 in 2
        (crossed("ab", x=5, y=3, z=4), ["z"]),
        (crossed("ab", x=2, y=6, z=2, w=4), ["y", "z"]),  # 8 lines in 12 panels
        (crossed("abcdefghijk", x=3), []),  # 11 entries: two of a colour
        (crossed("abcdefghijklmnopq", x=3), [FLOW]),
        (crossed("abcdefghijk", x=3, y=2), [FLOW]),
    ],
)
def test_panels_are_chosen_by_themselves(rows: list[SummaryRow], expected: list[str]) -> None:
    there = of(rows)
    asked = ArrangementRequest("m", there["x"])
    made = chosen(summary(rows), list(there.values()), asked)
    assert [panel if panel == FLOW else panel.path for panel in made.panels] == expected
    found = arrange(summary(rows), list(there.values()), made, WORDS)
    assert (found.lines_left_out, found.panels_left_out, found.mixed) == ([], [], False)
    assert len(found.legend) <= (COLOURS if made.colour is None else 2 * COLOURS)
    assert len(list(found.points())) == len(rows)


def test_what_no_panels_help_stays() -> None:
    rows = crossed("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL", x=2)  # 38 flows
    there = of(rows)
    made = chosen(summary(rows), list(there.values()), ArrangementRequest("m", there["x"]))
    assert (made.panels, made.colour) == ((), FLOW)
    many = crossed("".join(chr(200 + number) for number in range(99)), x=2)
    asked = ArrangementRequest("m", of(many)["x"])
    assert chosen(summary(many), list(of(many).values()), asked) == asked
