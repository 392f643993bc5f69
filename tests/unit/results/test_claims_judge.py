"""Each kind of relation holds, fails, holds in part and stays undecided; the paper decides."""

from __future__ import annotations

from typing import Any

import pytest

from results.claims.judge import (
    CANNOT,
    DOES_NOT,
    HOLDS,
    IN_PART,
    UNDECIDED,
    Accepted,
    Verdict,
    combined_verdict,
    judge,
    mean_with_interval,
)
from results.claims.model import Claim, Statement
from results.claims.rows import Row, rows, rows_of_any_length

OF = {"experiment": "e", "metric": "goodput_bps", "flows": ["one"]}
PAIR = [{"name": "a", "of": {"where": {"x": 1}}}, {"name": "b", "of": {"where": {"x": 2}}}]
ALONG = {"axis": "x", "values": [1, 2, 3]}


def statement(relation: str, **more: Any) -> Statement:
    return Statement.model_validate(
        {"id": "W1.1", "says": "s", "place": "p", "relation": relation, "tolerance": "5%",
         "reason": "r", "of": OF, **more}
    )  # fmt: skip


def around(mean: float, spread: float) -> list[float]:
    """Five values with that mean, none of them equal."""
    return [mean + spread * each for each in (-1.0, -0.5, 0.0, 0.5, 1.0)]


def verdict(row: Row, mean: float, spread: float = 0.001) -> Verdict:
    return judge(around(mean, spread), row.accepted).verdict


RELATIONS: dict[str, tuple[dict[str, Any], float, float, float, dict[str, Any], float]] = {
    # relation: data, a mean that holds, one that does not, one at the edge,
    # data with another number of the paper, a mean that holds then
    "value": ({"paper": 10}, 10.2, 11.0, 10.5, {"paper": 11}, 11.0),
    "range": ({"paper": [2, 4]}, 3.0, 5.0, 4.2, {"paper": [4.9, 6]}, 5.0),
    "at-most": ({"paper": 10}, 3.0, 12.0, 10.5, {"paper": 12}, 12.0),
    "at-least": ({"paper": 10}, 30.0, 8.0, 9.5, {"paper": 8}, 8.0),
    "share": ({"paper": 0.9, "whole": 10}, 0.9, 0.5, 0.945, {"paper": 0.5, "whole": 10}, 0.5),
    "factor": (
        {"paper": [1.7, 3.3], "compare": PAIR}, 2.0, 1.2, 3.465,
        {"paper": 1.2, "compare": PAIR}, 1.2,
    ),
    "ordering": ({"compare": PAIR}, 1.2, 0.9, 1.05, {"compare": PAIR, "tolerance": 0}, 1.04),
    "monotone": (
        {"direction": "falls", "along": ALONG}, 0.8, 1.3, 1.05,
        {"direction": "rises", "along": ALONG}, 1.3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_relation_holds_fails_and_stays_undecided(relation: str) -> None:
    data, good, bad, edge, changed, good_then = RELATIONS[relation]
    made = rows(statement(relation, **data))
    assert len(made) == (2 if relation == "monotone" else 1)
    for row in made:
        assert verdict(row, good) == HOLDS
        assert verdict(row, bad) == DOES_NOT
        assert verdict(row, edge * 1.00001, spread=0.1) == UNDECIDED
    (other, *_) = rows(statement(relation, **changed))
    assert verdict(other, good_then) == HOLDS
    assert verdict(made[0], good_then) == DOES_NOT or relation == "ordering"


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_relation_holds_in_part_where_it_holds_at_one_place_only(relation: str) -> None:
    data, good, bad, _edge, _changed, _then = RELATIONS[relation]
    if relation == "monotone":
        made = rows(statement(relation, **data))
    else:
        places = [{"label": "here"}, {"label": "there"}]
        made = rows(statement(relation, cases=places, **data))
    assert [row.label for row in made] != ["", ""]
    found = [verdict(row, mean) for row, mean in zip(made, (good, bad), strict=True)]
    assert combined_verdict(found) == IN_PART


def test_a_tie_is_no_lead() -> None:
    (row,) = rows(statement("ordering", compare=PAIR, tolerance=0))
    assert judge([1.0, 1.0, 1.0], row.accepted).verdict == DOES_NOT
    assert judge([1.0], row.accepted, identical=2).verdict == DOES_NOT
    assert judge([1.0001, 1.0001, 1.0001], row.accepted).verdict == HOLDS
    at_least = Accepted(1.0, None)
    assert judge([1.0, 1.0, 1.0], at_least).verdict == HOLDS


def test_a_step_leaves_out_values_that_a_length_has_no_runs_of() -> None:
    falling = statement("monotone", direction="falls", along={"axis": "x", "values": [1, 2, 4, 8]})
    made = rows(falling, lambda quantity: quantity.where["x"] in (1, 4, 8))
    assert [row.label for row in made] == ["x 1 to 4", "x 4 to 8"]
    after, before = made[0].terms[0]
    assert (after.where["x"], before.where["x"]) == (4, 1)
    known = [row.label for row in rows_of_any_length(falling)]
    assert known == ["x 1 to 2", "x 1 to 4", "x 1 to 8", "x 2 to 4", "x 2 to 8", "x 4 to 8"]
    assert rows(falling, lambda quantity: quantity.where["x"] == 1) == []


def test_an_ordering_of_three_has_two_rows_and_needs_both() -> None:
    three = [*PAIR, {"name": "c", "of": {"where": {"x": 3}}}]
    made = rows(statement("ordering", compare=three))
    assert [row.label for row in made] == ["a / b", "b / c"]
    assert combined_verdict([verdict(made[0], 2.0), verdict(made[1], 2.0)]) == HOLDS
    assert combined_verdict([verdict(made[0], 2.0), verdict(made[1], 0.5)]) == IN_PART


def test_a_wide_interval_says_how_many_runs_decide() -> None:
    few = judge([9.0, 10.0, 11.5], Accepted(9.5, 10.6), least=3)
    assert few.verdict == UNDECIDED
    # s = 1.258, t = 4.303, the nearest edge is 0.433 away: (4.303 * 1.258 / 0.433)^2 = 156
    assert few.needed == pytest.approx(157, abs=1)
    assert f"about {few.needed} runs" in str(few.reason)
    at_the_edge = judge([9.4, 9.5, 9.6], Accepted(9.5, None))
    assert (at_the_edge.verdict, at_the_edge.needed) == (UNDECIDED, None)


def test_more_repetitions_narrow_the_interval_that_the_first_ones_gave() -> None:
    values = [9.0, 10.0, 11.0, *[10.0] * 97]
    found = judge(values, Accepted(9.0, 11.0), least=3)
    assert found.verdict == HOLDS
    assert found.low == pytest.approx(10 - 4.303 * 1.0 / 10, abs=0.001)  # t of 2, s of the first 3
    assert judge(values[:3], Accepted(9.0, 11.0), least=3).verdict == UNDECIDED


def test_a_single_value_decides_only_where_nothing_is_random() -> None:
    assert judge([10.0], Accepted(9.0, 11.0)).verdict == UNDECIDED
    assert judge([10.0], Accepted(9.0, 11.0), identical=2).verdict == HOLDS
    assert judge([12.0], Accepted(9.0, 11.0), identical=2).verdict == DOES_NOT
    assert judge([], Accepted(9.0, 11.0)).verdict == UNDECIDED


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([DOES_NOT, DOES_NOT], DOES_NOT),
        ([HOLDS, DOES_NOT, UNDECIDED], IN_PART),
        ([IN_PART, HOLDS], IN_PART),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([DOES_NOT, UNDECIDED], UNDECIDED),
        ([CANNOT, HOLDS], HOLDS),
        ([CANNOT], CANNOT),
        ([], CANNOT),
    ],
)
def test_verdicts_of_parts_make_one(parts: list[Verdict], expected: Verdict) -> None:
    assert combined_verdict(parts) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": ""}, "`relation`, `tolerance` and its `reason` are missing"),
        ({"tolerance": None}, "`relation`, `tolerance` and its `reason` are missing"),
        ({"paper": None}, "value needs the paper's number"),
        ({"paper": "much"}, "neither a number nor a range"),
        ({"paper": [3, 2]}, "neither a number nor a range"),
        ({"tolerance": "wide"}, "is no tolerance"),
        ({"relation": "factor"}, "factor has 0 values to compare"),
        ({"relation": "monotone"}, "`direction` belongs to monotone"),
        ({"relation": "share"}, "`whole` belongs to share"),
        ({"cannot": "no radio"}, "`cannot` goes without a `relation`"),
    ],
)
def test_an_incomplete_statement_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        statement(**{"relation": "value", "paper": 10, **changes})


@pytest.mark.parametrize(
    ("ids", "message"),
    [(["W1.9"], "no statement W1.9 to draw"), (["W1.1", "W1.2"], "differ in their units")],
)
def test_a_figure_is_of_statements_that_exist_and_have_one_unit(
    ids: list[str], message: str
) -> None:
    parts = [
        statement("value", paper=10, id=f"W1.{number}", unit=unit)
        for number, unit in ((1, "s"), (2, "ms"))
    ]
    whole = {"says": "s", "statements": parts}
    assert Claim.model_validate({**whole, "figures": [{"of": ["W1.1"], "title": "t"}]}).figures
    with pytest.raises(ValueError, match=message):
        Claim.model_validate({**whole, "figures": [{"of": ids, "title": "t"}]})


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.9004, 0.9108, "0.9056 [0.9004, 0.9108]"),
        (1.00001, 1.00003, "1.00002 [1.00001, 1.00003]"),
        (0.99998, 1.0, "0.99999 [0.99998, 1]"),
        (3.4, 3.4, "3.4 [3.4, 3.4]"),
    ],
)
def test_ends_of_an_interval_are_shown_apart_if_they_differ(
    low: float, high: float, shown: str
) -> None:
    assert mean_with_interval(low / 2 + high / 2, low, high, 3) == shown


def test_only_very_large_numbers_have_an_exponent() -> None:
    assert mean_with_interval(26214.0, 25461.0, 26967.0, 3) == "26210 [25460, 26970]"
    assert mean_with_interval(2.6214e9, None, None, 1) == "2.621e+09"


def test_an_interval_that_crosses_an_edge_is_shown_to_cross_it() -> None:
    interval = (1.000075, 0.99976, 1.00039, 3)
    assert mean_with_interval(*interval) == "1 [0.9998, 1]"
    assert mean_with_interval(*interval, (None, 1.0)) == "1.0001 [0.99976, 1.0004]"
    assert mean_with_interval(1.000012, None, None, 1) == "1"
    assert mean_with_interval(1.000012, None, None, 1, (1.0, None)) == "1.00001"
    assert mean_with_interval(2.0, 1.0, 3.0, 3, (1.0, None)) == "2 [1, 3]"
    inside = mean_with_interval(2.0, 1.0 + 1e-12, 3.0, 3, (1.0, None))
    assert inside == "2 [1, 3]"  # nobody wants to read thirteen digits
