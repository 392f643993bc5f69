"""The reference cards: what is kept of a card, what is out of date, and where they are used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.evaluation import loading
from orchestrator.evaluation.card import library
from orchestrator.evaluation.card.fingerprints import fingerprint, fingerprints
from orchestrator.evaluation.model import Criterion
from orchestrator.evaluation.prepared import EvaluationRequest, prepare
from results.contract.evaluations import Card, CardLibrary
from results.documents import card_library
from tests.support.cards import card
from tests.support.contract import faults
from tests.support.run import orchestrator

ROOT = Path(__file__).parents[3]
MOST_BYTES = 200_000


@pytest.mark.parametrize("name", card_library.names())
def test_a_reference_card_is_of_the_present_criteria(name: str) -> None:
    """Who changes what a criterion runs or asks makes the cards again."""
    kept = card_library.read(name)
    now = fingerprints(loading.load_all())
    assert {one: now[one] for one in kept.criteria} == kept.criteria
    assert [one.name for one in kept.card.criteria] == list(kept.criteria)
    assert card_library.name_of(kept.card) == name
    assert kept.card.failed == 0
    assert (card_library.FOLDER / f"{name}.json").stat().st_size < MOST_BYTES


def test_the_library_has_the_references_of_each_card_and_controls_of_each_kind() -> None:
    assert {
        "cubic-6.12", "reno-6.12", "bbr-6.12", "vegas-6.12", "westwood-6.12", "dctcp-6.12",
        "westwoodplus-6.12", "prague-7.3",
    } <= set(card_library.names())  # fmt: skip


def test_the_page_is_what_the_cards_make() -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference_cards.py", "--check"], cwd=ROOT, check=False
    )
    assert done.returncode == 0, "tools/reference_cards.py writes docs/cards.md"


def test_words_of_a_criterion_do_not_count_and_bounds_do() -> None:
    harm = loading.load_all()["harm"]
    first, *others = harm.rows

    def with_first(**changes: object) -> Criterion:
        rows = [first.model_copy(update=changes), *others]
        return harm.model_copy(update={"rows": rows, "title": "Said otherwise"})

    assert fingerprint(with_first(reason="said otherwise")) == fingerprint(harm)
    assert fingerprint(with_first(bound=0.99)) != fingerprint(harm)


def test_what_changed_since_a_card_was_made_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.outdated() == {}
    monkeypatch.setattr(library, "fingerprints", lambda _criteria: {"harm": "another"})
    assert "harm" in library.outdated()["cubic-6.12"]
    said = orchestrator("evaluate", "--library")
    assert "cubic-6.12: is of earlier forms of utilisation" in said.stdout


def test_a_card_loses_the_names_of_its_runs_and_nothing_that_is_compared() -> None:
    made = Card.model_validate(card("mine", "meets", 10.123456789))
    kept = json.loads(card_library.text(made, {"harm": "x"}))
    assert kept["criteria"] == {"harm": "x"}
    (cell,) = kept["card"]["criteria"][0]["rows"][0]["cells"]
    assert (cell["candidate"]["mean"], cell["candidate"]["runs"]) == (10.12346, [])
    assert kept["card"]["digest"] == made.digest
    assert faults(Card, kept["card"]) == []


def test_a_reference_card_is_a_baseline() -> None:
    wanted = EvaluationRequest("reno", Path("card"), baseline="library:cubic-6.12")
    baseline = prepare(wanted).baseline
    assert isinstance(baseline, Card)
    assert baseline.candidate == "cubic"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cubic", "--baseline", "library:cubik-6.12"], "(did you mean `cubic-6.12`?)"),
        (["cubic", "--full", "--baseline", "library:cubic-6.12"], "is a quick card"),
        (["cubic", "--library"], "--library and NAME|FOLDER"),
        (["--library", "--matrix", "cubic,reno"], "--library and --matrix"),
    ],
)
def test_a_wrong_call_names_what_is_wrong(words: list[str], message: str) -> None:
    done = orchestrator("evaluate", *words, "-o", "card")
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_library_is_a_document() -> None:
    done = orchestrator("evaluate", "--library", "--json")
    document = json.loads(done.stdout)
    assert faults(CardLibrary, document) == []
    grades = {one["name"]: one["grades"] for one in document["cards"]}
    assert grades["bbr-6.12"]["shallow-buffers"] == "does not meet"
