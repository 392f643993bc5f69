"""What changed between two cards: verdicts, and means whose intervals are apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.evaluation import wording
from orchestrator.evaluation.card import changes_section
from orchestrator.evaluation.card.changes import changes
from results.contract.evaluations import Card
from results.documents.card_document import read_card
from tests.support.cards import card


def both(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return changes(Card.model_validate(before), Card.model_validate(after)).document()


def test_equal_cards_have_no_changes() -> None:
    found = both(card("mine", "meets", 10), card("mine", "meets", 10))
    assert (found["compared"], found["grades"], found["cells"]) == (1, [], [])


@pytest.mark.parametrize(("mean", "listed"), [(10.9, 0), (11.1, 1), (8.9, 1)])
def test_a_cell_is_listed_if_its_intervals_are_apart(mean: float, listed: int) -> None:
    """Each interval reaches 0.5 to either side, so those of 10 and 10.9 overlap."""
    found = changes(
        Card.model_validate(card("mine", "meets", 10)),
        Card.model_validate(card("mine", "meets", mean)),
    )
    assert len(found.cells) == listed
    assert all(cell.apart for cell in found.cells)
    assert [(cell.mean_before, cell.mean_after) for cell in found.cells] == [(10, mean)] * listed


def test_another_verdict_is_listed_with_its_grade() -> None:
    found = both(card("mine", "meets", 10), card("mine", "does not meet", 10.1))
    assert found["grades"] == [{"name": "harm", "before": "meets", "after": "does not meet"}]
    (cell,) = found["cells"]
    assert (cell["before"], cell["after"], cell["apart"]) == ("meets", "does not meet", False)


def test_criteria_of_one_card_alone_are_named() -> None:
    other = card("mine", "meets", 10)
    criteria = [{**other["criteria"][0], "name": "aqm"}]
    found = both(card("mine", "meets", 10), {**other, "criteria": criteria})
    assert (found["compared"], found["only_before"], found["only_after"]) == (0, ["harm"], ["aqm"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "is no card"),
        (b"[" * 100_000, "is no card"),
        (json.dumps({"schema": 2}).encode(), "is no card: schema"),
        (json.dumps(card("mine", "good", 10)).encode(), "is no card: criteria.0.grade"),
    ],
)
def test_what_is_no_card_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read_card(path)
    assert str(path) in str(refused.value)
    assert message in str(refused.value)


def test_the_tables_of_the_page_have_each_change_with_its_values() -> None:
    found = changes(
        Card.model_validate(card("mine", "meets", 10e6)),
        Card.model_validate(card("mine", "does not meet", 4e6)),
    )
    grades, cells = changes_section.tables(found)
    assert grades.rows == [["harm", "meets", "does not meet"]]
    assert cells.rows == [
        ["harm: throughput at limit=1bdp, beside reno", "meets", "does not meet",
         "10.000 [10.000, 10.000] Mbit/s", "4.000 [4.000, 4.000] Mbit/s"]
    ]  # fmt: skip
    assert wording.changes(found) == [
        "harm: meets before, now does not meet", "1 of 1 cell changed",
    ]  # fmt: skip
