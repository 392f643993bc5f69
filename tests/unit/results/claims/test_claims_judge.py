"""Each kind of relation holds, nearly holds, fails and stays open; the paper decides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.claims.judge import (
    CANNOT,
    DOES_NOT,
    HOLDS,
    MIXED,
    MOSTLY,
    MOSTLY_NOT,
    NEARLY,
    OPEN,
    Agreement,
    RowFinding,
    RowVerdict,
    Verdict,
    judge,
    mean_with_interval,
    of_some_places,
)
from results.claims.judged_statements import JudgedClaim, JudgedRow, JudgedStatement, RowValues
from results.claims.marks import marks, sentence
from results.claims.stated.accepted import AcceptedRange
from results.claims.stated.model import Claim, Statement
from results.claims.stated.rows import ClaimRow, rows, rows_of_any_length
from results.experiment.left_out import LeftOut
from results.statistics.estimates import student
from results.statistics.two_looks import FIRST, FIRST_LOOK, SECOND_LOOK

OF = {"experiment": "e", "metric": "goodput_bps", "flows": ["one"]}
PAIR = [{"name": "a", "of": {"where": {"x": 1}}}, {"name": "b", "of": {"where": {"x": 2}}}]
ALONG = {"axis": "x", "values": [1, 2, 3]}


def statement(relation: str, **more: Any) -> Statement:
    return Statement.model_validate(
        {"id": "W1.1", "says": "s", "place": "p", "relation": relation, "tolerance": "5%",
         "reason": "r", "of": OF, **more}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("across", "accepted", "mean", "verdict"),
    [
        ("largest", AcceptedRange(1.0, None), 1.2, HOLDS),  # a larger one would agree, too
        ("largest", AcceptedRange(1.0, None), 0.95, NEARLY),  # a larger one is near or agrees
        ("largest", AcceptedRange(1.0, 1.5), 1.2, OPEN),  # another may be above 1.5
        ("largest", AcceptedRange(1.0, None), 0.8, OPEN),  # another may be above 1
        ("largest", AcceptedRange(None, 1.0), 1.2, DOES_NOT),  # and so does no larger one
        ("least", AcceptedRange(None, 1.0), 0.8, HOLDS),
        ("least", AcceptedRange(0.5, 1.0), 0.8, OPEN),
        ("least", AcceptedRange(1.0, None), 0.8, DOES_NOT),
        ("mean", AcceptedRange(1.0, None), 1.2, OPEN),
        ("mean", AcceptedRange(None, 1.0), 1.2, OPEN),
    ],
)
def test_what_some_places_tell_of_all_places(
    across: str, accepted: AcceptedRange, mean: float, verdict: RowVerdict
) -> None:
    near = wider(accepted)
    found = of_some_places(
        judge(around(mean, 0.01), accepted, near), accepted, near, across, "2 of 7"
    )
    assert found.verdict == verdict
    assert found.mean == pytest.approx(mean, rel=1e-3)
    assert found.needed is None  # repetitions add no places
    assert (found.reason is not None) == (verdict == OPEN)


def test_a_row_of_some_places_says_so() -> None:
    cases = [{"label": str(x), "of": {"where": {"x": x}}, "paper": 1.0} for x in (1, 2, 3)]
    (row,) = rows(statement("value", across="largest", cases=cases))
    some = JudgedRow.of(row, RowValues(around(1.0, 0.001), 3, LeftOut(), places=2))
    every = JudgedRow.of(row, RowValues(around(1.0, 0.001), 3, LeftOut(), places=3))
    assert (some.label, some.finding.verdict) == ("largest of 2 of 3", OPEN)
    assert some.finding.reason == "only the largest of 2 of 3 places was measured"
    assert (every.label, every.finding.verdict) == ("largest of all", HOLDS)


def around(mean: float, spread: float) -> list[float]:
    """Five values with that mean, none of them equal."""
    return [mean + spread * each for each in (-1.0, -0.5, 0.0, 0.5, 1.0)]


def wider(accepted: AcceptedRange, by: float = 0.1) -> AcceptedRange:
    """Return what agrees, with a zone of that width around it."""
    return AcceptedRange(
        None if accepted.low is None else accepted.low - by,
        None if accepted.high is None else accepted.high + by,
    )


def found(values: list[float], accepted: AcceptedRange, by: float = 0.1, **more: Any) -> RowFinding:
    return judge(values, accepted, wider(accepted, by), **more)


def verdict(row: ClaimRow, mean: float, spread: float = 0.001) -> RowVerdict:
    return judge(around(mean, spread), row.accepted, row.near).verdict


RELATIONS: dict[str, tuple[dict[str, Any], float, float, float, dict[str, Any], float]] = {
    # relation: data, a mean that holds, one that does not, one that is near,
    # data with another number of the paper, a mean that holds then
    "value": ({"paper": 10}, 10.2, 12.0, 11.0, {"paper": 12}, 12.0),
    "range": ({"paper": [2, 4]}, 3.0, 5.0, 4.4, {"paper": [4.9, 6]}, 5.0),
    "at-most": ({"paper": 10}, 3.0, 12.0, 11.0, {"paper": 12}, 12.0),
    "at-least": ({"paper": 10}, 30.0, 8.0, 9.0, {"paper": 8}, 8.0),
    "share": ({"paper": 0.9, "whole": 10}, 0.9, 0.5, 1.0, {"paper": 0.5, "whole": 10}, 0.5),
    "factor": (
        {"paper": [1.7, 3.3], "compare": PAIR}, 2.0, 1.2, 3.55,
        {"paper": 1.2, "compare": PAIR}, 1.2,
    ),
    "ordering": ({"compare": PAIR}, 1.2, 0.9, 1.0, {"compare": PAIR, "tolerance": 0}, 1.04),
    "monotone": (
        {"direction": "falls", "along": ALONG}, 0.8, 1.3, 1.07,
        {"direction": "rises", "along": ALONG}, 1.3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_relation_holds_nearly_holds_fails_and_stays_open(relation: str) -> None:
    data, good, bad, close, changed, good_then = RELATIONS[relation]
    made = rows(statement(relation, **data))
    assert len(made) == (2 if relation == "monotone" else 1)
    for row in made:
        assert verdict(row, good) == HOLDS
        assert verdict(row, bad) == DOES_NOT
        assert verdict(row, close) == NEARLY
        assert verdict(row, close, spread=close / 4) == OPEN
    (other, *_) = rows(statement(relation, **changed))
    assert verdict(other, good_then) == HOLDS
    assert verdict(made[0], good_then) == DOES_NOT or relation == "ordering"


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_relation_is_mixed_where_it_holds_at_one_of_two_places(relation: str) -> None:
    data, good, bad, _near, _changed, _then = RELATIONS[relation]
    if relation == "monotone":
        made = rows(statement(relation, **data))
    else:
        places = [{"label": "here"}, {"label": "there"}]
        made = rows(statement(relation, cases=places, **data))
    assert [row.label for row in made] != ["", ""]
    verdicts = [verdict(row, mean) for row, mean in zip(made, (good, bad), strict=True)]
    assert Agreement.of_rows(verdicts).word == MIXED


def test_a_tie_is_no_lead() -> None:
    (row,) = rows(statement("ordering", compare=PAIR, tolerance=0))
    assert judge([1.0, 1.0, 1.0], row.accepted, row.near).verdict == NEARLY
    assert judge([1.0], row.accepted, row.near, identical=2).verdict == NEARLY
    assert judge([1.0001, 1.0001, 1.0001], row.accepted, row.near).verdict == HOLDS
    assert found([1.0, 1.0, 1.0], AcceptedRange(1.0, None)).verdict == HOLDS


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
    assert Agreement.of_rows([verdict(made[0], 2.0), verdict(made[1], 2.0)]).word == HOLDS
    assert Agreement.of_rows([verdict(made[0], 2.0), verdict(made[1], 0.5)]).word == MIXED


def test_an_open_row_says_how_many_runs_decide() -> None:
    """Values on a logarithmic scale whose deviation is 0.1, and a zone of 0.05 beside 1."""
    values = [math.exp(0.1 * each) for each in (-1.0, 0.0, 1.0)]
    few = judge(values, AcceptedRange(1.0, None), AcceptedRange(math.exp(-0.05), None))
    needed = (2 * student(SECOND_LOOK, FIRST - 1) * 0.1 / 0.05) ** 2
    assert (few.verdict, few.planned) == (OPEN, FIRST)
    # With 90% probability the deviation of five is at most the root of five times that of three.
    assert few.needed == math.ceil(5 * needed)
    assert f"{few.needed} runs decide" in str(few.reason)
    # It depends on the deviation alone, and not on how far the mean is from an edge.
    nearer = judge(
        [0.98 * value for value in values],
        AcceptedRange(1.0, None),
        AcceptedRange(0.95122942, None),
    )
    assert (nearer.verdict, nearer.needed) == (OPEN, few.needed)
    many = values + [1.0] * (math.ceil(needed) - 3)
    assert (
        judge(many, AcceptedRange(1.0, None), AcceptedRange(math.exp(-0.05), None)).verdict
        == NEARLY
    )


def test_the_mean_is_taken_on_the_rows_scale() -> None:
    ratio = found([0.5, 2.0], AcceptedRange(0.9, 1.1))
    assert ratio.mean == pytest.approx(1.0)  # the geometric mean
    assert ratio.low is not None
    assert ratio.low > 0.0
    index = found([0.9, 0.99], AcceptedRange(0.95, None), index=True)
    assert index.high is not None
    assert index.high <= 1.0
    assert index.mean == pytest.approx(0.967, abs=2e-3)  # of logits 2.2 and 4.5
    plain = found([0.0, 2.0], AcceptedRange(0.9, 1.1))
    assert plain.mean == 1.0


def test_from_five_repetitions_on_the_rule_of_two_looks_has_the_interval() -> None:
    values = [math.exp(each) for each in around(0.0, 0.1)]
    sd = math.sqrt(0.1**2 * 2.5 / 4)
    first = found(values, AcceptedRange(0.99, 1.01), by=0.01)
    half = student(FIRST_LOOK, FIRST - 1) * sd / math.sqrt(FIRST)
    assert first.verdict == OPEN
    assert (first.low, first.high) == pytest.approx((math.exp(-half), math.exp(half)))
    few = found(values[:4], AcceptedRange(0.99, 1.01), by=0.01)
    assert few.high is not None
    assert few.mean is not None
    assert math.log(few.high / few.mean) == pytest.approx(student(0.95, 3) * 0.0645497 / 2)


def test_all_that_were_made_at_first_count_for_the_deviation() -> None:
    values = [math.exp(each) for each in [*around(0.0, 0.1), *around(0.0, 0.3)]]
    five, ten = (found(values, AcceptedRange(0.7, 1.4), by=0.3, least=least) for least in (5, 10))
    assert five.low is not None
    assert ten.low is not None
    assert -math.log(five.low) == pytest.approx(student(SECOND_LOOK, 4) * 0.079057 / math.sqrt(10))
    sd = math.sqrt((0.1**2 + 0.3**2) * 2.5 / 9)
    assert -math.log(ten.low) == pytest.approx(student(FIRST_LOOK, 9) * sd / math.sqrt(10))


def test_a_single_value_decides_only_where_nothing_is_random() -> None:
    accepted = AcceptedRange(9.0, 11.0)
    assert found([10.0], accepted).verdict == OPEN
    assert found([10.0], accepted, identical=2).verdict == HOLDS
    assert found([11.05], accepted, identical=2).verdict == NEARLY
    assert found([12.0], accepted, identical=2).verdict == DOES_NOT
    assert found([], accepted).verdict == OPEN


@pytest.mark.parametrize(
    ("rows_", "low", "high", "expected"),
    [
        ([HOLDS] * 3, 1.0, 1.0, HOLDS),
        ([HOLDS] * 9 + [DOES_NOT], 0.9, 0.9, HOLDS),
        ([HOLDS] * 9 + [OPEN], 0.9, 1.0, HOLDS),
        ([HOLDS, HOLDS, OPEN], 2 / 3, 1.0, MOSTLY),
        ([HOLDS, HOLDS, DOES_NOT], 2 / 3, 2 / 3, MOSTLY),
        ([NEARLY], 0.5, 0.5, MIXED),
        ([HOLDS, DOES_NOT], 0.5, 0.5, MIXED),
        ([HOLDS, OPEN], 0.5, 1.0, OPEN),  # it may be mixed, or hold
        ([NEARLY, DOES_NOT], 0.25, 0.25, MOSTLY_NOT),
        ([DOES_NOT, DOES_NOT, OPEN], 0.0, 1 / 3, MOSTLY_NOT),
        ([DOES_NOT] * 9 + [HOLDS], 0.1, 0.1, DOES_NOT),
        ([DOES_NOT, OPEN], 0.0, 0.5, OPEN),
        ([], 0.0, 1.0, OPEN),
    ],
)
def test_rows_make_an_agreement_and_a_word(
    rows_: list[RowVerdict], low: float, high: float, expected: Verdict
) -> None:
    agreement = Agreement.of_rows(rows_)
    assert (agreement.low, agreement.high) == pytest.approx((low, high))
    assert agreement.word == expected


ANSWERS: list[RowVerdict] = [HOLDS, NEARLY, DOES_NOT]


@given(st.lists(st.sampled_from([*ANSWERS, OPEN]), min_size=1, max_size=6))
def test_a_word_stays_true_however_open_rows_turn_out(verdicts: list[RowVerdict]) -> None:
    word = Agreement.of_rows(verdicts).word
    places = [index for index, each in enumerate(verdicts) if each == OPEN]
    shares = []
    for answers in itertools.product(ANSWERS, repeat=len(places)):
        closed = list(verdicts)
        for place, answer in zip(places, answers, strict=True):
            closed[place] = answer
        shares.append(Agreement.of_rows(closed).low)
    true_of: dict[Verdict, Callable[[float], bool]] = {
        HOLDS: lambda share: share >= 0.9 - 1e-9,
        MOSTLY: lambda share: share > 0.5,
        MIXED: lambda share: 0.35 - 1e-9 <= share <= 0.65 + 1e-9,
        MOSTLY_NOT: lambda share: share < 0.5,
        DOES_NOT: lambda share: share <= 0.1 + 1e-9,
        OPEN: lambda share: True,
    }
    assert all(true_of[word](share) for share in shares)


def test_a_claim_counts_its_statements_and_shows_a_mark_for_each() -> None:
    """Statements that cannot be tested, or in part only, do not count."""

    def judged(number: int, mean: float, **more: Any) -> JudgedStatement:
        stated = statement("at-least", paper=1, tolerance=0, id=f"W1.{number}", **more)
        (row,) = rows(stated)
        values = RowValues(around(mean, 0.001), 5, LeftOut())
        return JudgedStatement("paper", stated, [JudgedRow.of(row, values)])

    cannot = Statement.model_validate(
        {"id": "W1.5", "says": "s", "place": "p", "cannot": "There is no air."}
    )
    parts = [
        judged(1, 0.5), judged(2, 2.0), judged(3, 0.95), judged(4, 2.0, in_part="no radio"),
        JudgedStatement("paper", cannot, []),
    ]  # fmt: skip
    claim = JudgedClaim("paper", "W1", "It is so.", parts)
    assert claim.agreement == Agreement(0.5, 0.5)
    assert (claim.verdict, claim.count) == (MIXED, "1 of 3 statements hold")
    assert marks(claim) == "●◑○––"
    assert sentence(claim) == "1 of 3 statements hold; agreement 0.50."
    none = JudgedClaim("paper", "W1", "It is so.", parts[3:])
    assert (none.agreement, none.verdict, marks(none)) == (None, CANNOT, "––")


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
