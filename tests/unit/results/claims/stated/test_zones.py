"""The zone around what agrees with a paper, and the scales of rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from results.claims.judge import judge
from results.claims.stated.model import Statement
from results.claims.stated.rows import ClaimRow, rows
from results.claims.stated.scales import LOG, LOGIT, PLAIN, scale_of
from results.claims.stated.zones import narrowest

GOODPUT = {"experiment": "one", "metric": "goodput_bps", "flows": ["a"]}
PAIR = [{"name": "a"}, {"name": "b"}]


def row(relation: str, tolerance: str | float = 0, **keys: Any) -> ClaimRow:
    """Return the row of a statement that has one."""
    if relation in ("ordering", "factor"):
        keys = {"compare": PAIR} | keys
    statement = Statement.model_validate(
        {
            "id": "W1.1", "says": "It is so.", "place": "section 1", "relation": relation,
            "tolerance": tolerance, "reason": "a reason", "of": GOODPUT,
        }
        | keys
    )  # fmt: skip
    (found,) = rows(statement)
    return found


@pytest.mark.parametrize(
    ("relation", "tolerance", "keys", "low", "high"),
    [
        ("value", "5%", {"paper": 10}, 8.5, 11.5),  # a tenth, which is more than 5%
        ("value", "20%", {"paper": 10}, 6.0, 14.0),  # as wide as the tolerance again
        ("range", 0.5, {"paper": [1, 4]}, 0.0, 5.0),
        ("at-most", 0, {"paper": 50}, None, 55.0),
        ("at-least", "5%", {"paper": 5}, 4.25, None),
        ("share", 0.01, {"paper": [0.95, 0.99], "whole": 100}, 0.845, 1.099),
        ("factor", "10%", {"paper": 1}, 0.80, 1.20),
        ("factor", 0, {"paper": [None, 0.95]}, None, 1.0),
        ("factor", 0, {"paper": [3, None]}, 2.8, None),  # a tenth of the distance from 1
        ("ordering", 0, {}, 0.95, None),
        ("ordering", "25%", {}, 0.95, None),
    ],
)  # fmt: skip
def test_each_relation_has_its_zone(
    relation: str, tolerance: str | float, keys: Any, low: float | None, high: float | None
) -> None:
    found = row(relation, tolerance, **keys)
    zone = found.near
    assert zone.low == (low if low is None else pytest.approx(low))
    assert zone.high == (high if high is None else pytest.approx(high))


def test_a_step_may_be_5_percent_more_the_other_way() -> None:
    found = row("monotone", 0.02, direction="falls", along={"axis": "limit", "values": [1, 2]})
    assert found.accepted.high == pytest.approx(1.02)
    assert found.near.high == pytest.approx(1.07)


def test_an_index_has_a_zone_of_its_own() -> None:
    found = row("at-least", 0, paper=0.95, of=GOODPUT | {"over": "jain"})
    assert found.near.low == pytest.approx(0.90)
    ratio = row("factor", 0, paper=[1, None], of=GOODPUT | {"over": "jain"})
    assert ratio.near.low == pytest.approx(0.95)


def test_no_zone_lies_within_what_agrees() -> None:
    for relation in ("value", "range", "at-most", "at-least", "share", "factor"):
        keys: dict[str, Any] = {"whole": 2} if relation == "share" else {}
        for tolerance in (0, "5%", 0.3):
            found = row(relation, tolerance, paper=[0.5, 3], **keys)
            zone = found.near
            for inner, outer, sign in (
                (found.accepted.low, zone.low, -1), (found.accepted.high, zone.high, 1)
            ):  # fmt: skip
                assert (inner is None) == (outer is None)
                if inner is not None and outer is not None:
                    assert sign * (outer - inner) > 0


def test_scales_follow_what_the_value_is() -> None:
    index = row("at-least", 0, paper=0.95, of=GOODPUT | {"over": "jain"})
    ratio = row("ordering")
    rate = row("value", "5%", paper=10)
    assert scale_of(index.index, [0.5, 1.0]) == LOGIT
    assert scale_of(ratio.index, [0.5, 2.0]) == scale_of(rate.index, [1e6]) == LOG
    assert scale_of(rate.index, [0.0, 1e6]) == PLAIN  # nothing arrived: it has no logarithm


@pytest.mark.parametrize("scale", [PLAIN, LOG, LOGIT])
def test_a_scale_has_its_inverse_and_keeps_the_order(scale: Any) -> None:
    values = [0.01, 0.2, 0.5, 0.99, 0.99999, 1.0]
    assert [scale.back(scale.of(value)) for value in values] == pytest.approx(values)
    assert [scale.of(value) for value in values] == sorted(scale.of(value) for value in values)


def test_an_index_of_1_is_on_its_scale_and_no_end_of_an_interval_is_beyond_it() -> None:
    assert LOGIT.of(0.0) == pytest.approx(-LOGIT.of(1.0))
    assert 0.0 < LOGIT.of(1.0) - LOGIT.of(0.9999) < 0.2  # less than 0.95 and 0.96 differ by
    assert LOGIT.of(0.96) - LOGIT.of(0.95) > 0.2
    assert (LOGIT.back(50.0), LOGIT.back(-50.0)) == (1.0, 0.0)
    assert LOG.of(0.0) == -math.inf


def test_an_edge_that_no_value_can_reach_asks_for_no_repetitions() -> None:
    found = row("range", 0.5, paper=[0.2, 4])
    assert found.accepted.low == pytest.approx(-0.3)  # no positive value is beyond it
    assert narrowest(found.accepted, found.near, LOG) == pytest.approx(math.log(5 / 4.5))
    below = row("at-least", 1.0, paper=0.5)
    assert narrowest(below.accepted, below.near, LOG) == math.inf
    assert judge([0.5, 5.0, 50.0], below.accepted, below.near).verdict == "holds"


def test_a_zone_without_a_width_is_decided_by_no_number_of_repetitions() -> None:
    none = row("value", 0, paper=0)
    finding = judge([-1.0, 0.5, 1.0, 2.0, 0.25], none.accepted, none.near)
    assert (finding.verdict, finding.needed) == ("open", None)


def test_the_narrower_side_of_a_zone_counts() -> None:
    found = row("value", "20%", paper=10)
    assert narrowest(found.accepted, found.near, PLAIN) == pytest.approx(2.0)
    assert narrowest(found.accepted, found.near, LOG) == pytest.approx(math.log(14 / 12))
