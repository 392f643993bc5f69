"""The page of open rows says what decides them, and leaves out what its budget does not pay."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.reproduction.open_costs import open_statements
from results.claims.claim_summaries import read_all
from results.claims.page.open_rows import OpenStatement, open_rows
from results.claims.stated.loading import load_all
from tests.support.reproduce import fake as fake
from tests.support.reproduce import paper as paper
from tests.support.reproduce import reproduce, vary
from tests.support.run import FakeRunner

HOUR_S = 3600.0


def found() -> dict[str, OpenStatement]:
    folder = Path("papers/claims")
    measured = read_all(Path("m"))
    return {
        statement.id: statement
        for statement in open_statements(load_all(folder), measured, folder.parent)
    }


def test_a_statement_that_was_not_measured_costs_its_first_repetitions(paper: FakeRunner) -> None:
    assert paper is not None
    costs = found()
    assert list(costs) == ["W1.1", "W1.2"]  # W2.1 cannot be tested
    assert (costs["W1.1"].rows, costs["W1.1"].length, costs["W1.1"].runs) == (2, "quick", 6)
    assert costs["W1.1"].wall_s > 0


def test_an_open_row_costs_what_reproduce_says(
    paper: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paper is not None
    vary(monkeypatch, 0.3)
    _status, document = reproduce("--write", "m")
    costs = found()
    assert list(costs) == ["W1.1"]  # W1.2 holds
    assert (costs["W1.1"].rows, costs["W1.1"].runs) == (1, document["W1.1"]["cost"]["runs"])


def test_a_decided_paper_has_no_open_rows(paper: FakeRunner) -> None:
    assert paper is not None
    reproduce("--write", "m")
    assert found() == {}


def test_the_cheapest_rows_come_first_and_the_rest_is_left_out() -> None:
    made = [
        OpenStatement("paper", "W3.1", 1, "full", 50, 4 * HOUR_S),
        OpenStatement("paper", "W1.1", 4, "quick", 20, 3 * HOUR_S),
        OpenStatement("paper", "W2.1", 1, "quick", 5, 1 * HOUR_S),
        OpenStatement("paper", "W4.1", 1, "quick", None, 0.0),
    ]
    within, rest = open_rows(made).split("## Left out")
    left_out, never = rest.split("## No number of runs decides")
    rows = [line for line in within.splitlines() if line.startswith("| [")]
    assert rows == [
        "| [paper:W1.1](paper.md#w1) | 4 | quick | 20 | 180.0 | 3.00 |",
        "| [paper:W2.1](paper.md#w2) | 1 | quick | 5 | 60.0 | 4.00 |",
    ]
    assert "| [paper:W3.1](paper.md#w3) | 1 | full | 50 | 240.0 | 8.00 |" in left_out
    assert "paper:W4.1" in never


def test_a_page_without_open_rows_says_so() -> None:
    assert "Nothing that is open costs so little." in open_rows([])
    assert "Nothing is left out." in open_rows([])
