"""The reference cards: what is kept of a card, what is out of date, and where they are used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.evaluation import loading
from orchestrator.evaluation.card import library
from orchestrator.evaluation.card.changes import changes
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("mean", [1.0000070933333334, 0.0004842419595657964, -7463957.333, 0.0])
def test_a_control_does_not_differ_from_its_own_reference_card(mean: float) -> None:
    """Also where the interval is a single value, which the library rounds."""
    document = card("mine", "meets", mean)
    (cell,) = document["criteria"][0]["rows"][0]["cells"]
    cell["candidate"] |= {"low": mean, "high": mean}
    made = Card.model_validate(document)
    kept = Card.model_validate(json.loads(card_library.text(made, {"harm": "x"}))["card"])
    assert changes(kept, made).cells == []
    assert changes(made, kept).cells == []


@pytest.mark.parametrize("name", card_library.names())
def test_the_command_of_a_reference_card_names_its_kernel_and_references(name: str) -> None:
    kept = card_library.read(name).card
    control, series = name.rsplit("-", 1)
    assert {one.command for one in kept.criteria} == {
        f"orchestrator evaluate {control} --against cubic,reno,bbr --quick --only {one.name} "
        f"--kernel {series} -o card"
        for one in kept.criteria
    }
    assert kept.kernels[0].startswith(f"{series}.")


@pytest.mark.slow
def test_a_card_of_earlier_criteria_becomes_no_reference_card() -> None:
    document = card("vegas", "meets", 10.0)
    (criterion,) = document["criteria"]
    for made_by in (None, "0123456789abcdef"):
        criterion["fingerprint"] = made_by
        with pytest.raises(UsageError, match="does not have the present forms of harm\n  fix: "):
            library.text_of(Card.model_validate(document))
    now = criterion["fingerprint"] = fingerprint(loading.load_all()["harm"])
    text = library.text_of(Card.model_validate(document))
    assert json.loads(text)["criteria"] == {"harm": now}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"module_sha256": "0" * 64}, "not of a module's folder"),
        ({"candidate": "../../vegas"}, "a control that anyone can name"),
        ({"kernels": []}, "and this has none"),
        ({"kernels": ["6.12.117-2754b7b6"]}, "of a release such as 6.12.117"),
        ({"kernels": ["6.12.117", "7.3.4"]}, "this has 6.12.117, 7.3.4"),
        ({"kernels": ["../7"]}, "has one kernel"),
    ],
)
def test_a_card_that_others_cannot_make_has_no_name(
    changed: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        card_library.name_of(Card.model_validate(card("vegas", "meets", 10.0) | changed))


@pytest.mark.slow
def test_a_reference_card_is_a_baseline() -> None:
    wanted = EvaluationRequest("reno", Path("card"), baseline="library:cubic-6.12")
    baseline = prepare(wanted).baseline
    assert isinstance(baseline, Card)
    assert baseline.candidate == "cubic"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cubic", "--baseline", "library:cubik-6.12"], "(did you mean `cubic-6.12`?)"),
        (["cubic", "--full", "--baseline", "library:cubic-6.12"], "is a quick card"),
        (["cubic", "--library"], "--library and NAME|FOLDER"),
        (["--library", "--matrix", "cubic,reno"], "--library and --matrix"),
        (["--library", "--kernel", "6.1"], "--library and --kernel"),
        (["--library", "--full"], "--library and --quick or --full"),
        (["--library", "-o", "card"], "--library and -o"),
    ],
)
def test_a_wrong_call_names_what_is_wrong(words: list[str], message: str) -> None:
    folder = [] if "--library" in words else ["-o", "card"]
    done = orchestrator("evaluate", *words, *folder)
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_library_is_a_document() -> None:
    done = orchestrator("evaluate", "--library", "--json")
    document = json.loads(done.stdout)
    assert faults(CardLibrary, document) == []
    grades = {one["name"]: one["grades"] for one in document["cards"]}
    assert grades["bbr-6.12"]["shallow-buffers"] == "does not meet"
