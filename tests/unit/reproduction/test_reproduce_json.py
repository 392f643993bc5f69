"""The entries of ``reproduce --json``: one for each number that is compared with a paper."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.reproduction.claim_document import paper_value
from results.claims import claim_folders
from results.claims.stated.loading import load_all
from results.claims.stated.rows import rows
from tests.support.reproduce import WORDS, paper, state
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]

KEYS = {"paper", "id", "statement", "paper_value", "measured", "verdict", "length", "runs",
        "command"}  # fmt: skip


def found(*words: str) -> dict[str, Any]:
    result = orchestrator("reproduce", *words, *WORDS, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_each_number_of_the_paper_is_an_entry_of_its_claim(paper: FakeRunner) -> None:
    assert paper is not None
    document = found()
    claims = document["claims"]
    assert all(set(claim) >= KEYS for claim in claims)
    assert [(claim["id"], claim["statement_id"]) for claim in claims] == [
        ("W1", "W1.1"), ("W1", "W1.1"), ("W1", "W1.2"), ("W2", "W2.1")
    ]  # fmt: skip
    assert [claim["paper_value"] for claim in claims] == [1.0, 2.0, None, None]
    row = document["statements"][0]["rows"][1]
    long = claims[1]
    assert (long["row"], long["unit"], long["length"]) == ("long", "Mbit/s", "quick")
    assert long["measured"] == {name: row[name] for name in ("mean", "low", "high", "n")}
    assert long["measured"]["low"] < long["measured"]["mean"] < long["measured"]["high"]
    assert (long["verdict"], long["runs"]) == (row["verdict"], row["runs"])
    assert len(long["runs"]) == long["measured"]["n"]
    assert long["command"] == "orchestrator reproduce paper:W1.1 --quick"
    air = claims[3]
    assert (air["measured"], air["verdict"], air["runs"]) == (None, "cannot be tested here", [])


def test_the_verdict_on_a_claim_is_that_of_its_chosen_statements(paper: FakeRunner) -> None:
    assert paper is not None
    state("4.0")
    every = {each["id"]: (each["verdict"], each["agreement"]) for each in found()["verdicts"]}
    assert every == {
        "W1": ("mostly holds", {"low": 0.75, "high": 0.75}),  # of W1.1 one row of two, and W1.2
        "W2": ("cannot be tested here", None),
    }
    (one,) = found("paper:W1.2")["verdicts"]
    assert one == {
        "paper": "paper",
        "id": "W1",
        "says": "One is slow, and faster with a longer queue.",
        "verdict": "holds",
        "agreement": {"low": 1.0, "high": 1.0},
    }


def test_a_statement_without_runs_has_an_entry_without_values(paper: FakeRunner) -> None:
    assert paper is not None
    (entry,) = found("paper:W1.2", "--reduced")["claims"]
    assert (entry["measured"], entry["verdict"], entry["length"]) == (None, "open", "reduced")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("westwoodplus:W3.1", 1.86),
        ("westwoodplus:W3.7", [None, 0.5]),
        ("westwoodplus:W3.4", None),
        ("logwestwood:L2.2", [0.95, None]),
        ("libra:B4.1", [0.99, None]),
        ("tibet:T9.1", 200.0),
    ],
)
def test_the_papers_value_is_a_number_a_range_or_nothing(statement: str, value: object) -> None:
    name, wanted = statement.split(":")
    statements = load_all(claim_folders.folder())[name].statements()
    first = rows(next(each for each in statements if each.id == wanted))[0]
    assert paper_value(first) == value
