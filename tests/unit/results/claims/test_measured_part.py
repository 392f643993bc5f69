"""What was measured of a statement, in words."""

from __future__ import annotations

from typing import Any

import pytest

from results.claims.judged_statements import JudgedRow, RowValues
from results.claims.measured_part import measured_part
from results.claims.stated.model import Design, Statement
from results.claims.stated.rows import rows_of_any_length
from results.experiment.left_out import LeftOut

DESIGNS = {
    "short": Design.model_validate(
        {"scenario": "s.yaml", "quick": {"measures": "70 of 950 s"}, "full": {}}
    )
}
OF = {"experiment": "short", "metric": "goodput_bps"}
AXIS = {"axis": "limit", "values": ["10p", "20p", "30p"]}


def stated(relation: str, **data: Any) -> Statement:
    return Statement.model_validate(
        {"id": "W1.1", "says": "a", "place": "b", "relation": relation, "tolerance": 0,
         "reason": "c", "of": OF, **data}
    )  # fmt: skip


def judged(statement: Statement, *labels: str) -> list[JudgedRow]:
    every = {row.label: row for row in rows_of_any_length(statement)}
    values = RowValues([1.0, 1.1], 2, LeftOut())
    return [JudgedRow.of(every[label], values) for label in labels]


@pytest.mark.parametrize(
    ("statement", "labels", "told"),
    [
        (stated("value", paper=1, along=AXIS), ["limit 10p"], "1 of 3 places"),
        (stated("value", paper=1, along=AXIS), ["limit 10p", "limit 20p", "limit 30p"], ""),
        (stated("monotone", direction="falls", along=AXIS), ["limit 10p to 30p"], "2 of 3 places"),
        (
            stated("monotone", direction="falls", along=AXIS),
            ["limit 10p to 20p", "limit 20p to 30p"],
            "",
        ),
        (
            stated("ordering", compare=[{"name": each} for each in "abc"], along=AXIS),
            ["limit 20p: a / b", "limit 20p: b / c"],
            "1 of 3 places",
        ),
        (stated("value", paper=1, along=AXIS, across="largest"), ["largest of all"], ""),
    ],
)
def test_places_without_values_are_counted(
    statement: Statement, labels: list[str], told: str
) -> None:
    assert measured_part(statement, judged(statement, *labels), DESIGNS, "full") == told


def test_a_small_part_of_the_time_is_told_at_its_length_alone() -> None:
    statement = stated("value", paper=1, along=AXIS)
    some = judged(statement, "limit 10p")
    assert measured_part(statement, some, DESIGNS, "quick") == "1 of 3 places; 70 of 950 s"
    assert measured_part(statement, some, DESIGNS, "full") == "1 of 3 places"
