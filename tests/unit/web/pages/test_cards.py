"""The pages of report cards: read only, and what a stranger's card has is text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.support.cards import card, matrix
from web import create_app

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    """A dashboard without a store, beside three folders with cards, of which one is none."""
    bad = card(HOSTILE, "does not meet", 1.0)
    bad["criteria"][0]["explained"] = HOSTILE
    bad["criteria"][0]["name"] = f'x" onclick="{HOSTILE}'
    cards = {"mine": card("mine", "meets", 10.0), "hostile": bad, "broken": {"schema": 1}}
    for name, document in cards.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text(json.dumps(document))
    for name, of in {"harms": ("mine", "reno"), "bad-harms": (HOSTILE, "reno")}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "matrix.json").write_text(json.dumps(matrix(*of)))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "lent").mkdir()
    (tmp_path / "lent" / "card.json").symlink_to(tmp_path / "mine" / "card.json")
    return create_app(tmp_path / "none.db").test_client()


def test_the_list_has_each_card_and_says_what_is_none(client: FlaskClient) -> None:
    text = client.get("/cards").text
    assert 'href="/cards/mine"' in text
    assert "is no card: candidate: Field required" in text
    assert 'href="/cards/broken"' not in text
    assert "empty" not in text
    assert "link" not in text.partition("<main")[2]
    assert "lent" not in text.partition("<main")[2]


def test_a_card_shows_its_grade_values_and_runs(client: FlaskClient) -> None:
    text = client.get("/cards/mine").text
    assert "<h1>Report card of mine</h1>" in text
    assert '<h2 id="harm">Harm: meets</h2>' in text
    assert "run-mine" in text
    assert 'href="/runs/run-mine"' not in text  # the store does not have it


@pytest.mark.parametrize("address", ["/cards", "/cards/hostile", "/cards/matrix/bad-harms"])
def test_what_a_stranger_wrote_is_text(client: FlaskClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text
    assert 'onclick="' not in answer.text


@pytest.mark.parametrize("name", ["broken", "empty", "link", "lent", "..", "%2e%2e", "nobody"])
def test_what_is_no_card_is_not_found(client: FlaskClient, name: str) -> None:
    assert client.get(f"/cards/{name}").status_code == 404


def test_no_folder_and_no_card_says_where_they_are_looked_for(tmp_path: Path) -> None:
    app = create_app(tmp_path / "none.db", cards=tmp_path / "absent")
    assert str(tmp_path / "absent") in app.test_client().get("/cards").text


def test_a_matrix_of_harm_shows_what_each_control_does_to_each_other(client: FlaskClient) -> None:
    assert 'href="/cards/matrix/harms"' in client.get("/cards").text
    text = client.get("/cards/matrix/harms").text
    assert "<h1>Harm of mine, reno</h1>" in text
    assert "incumbent reno" in text
    assert text.count("(-50% [-60, -40]) does not meet") == 2
    assert "goodput_bps in Mbit/s of the incumbent" in text
    assert "digest " + "0" * 64 in text


@pytest.mark.parametrize(
    "changed",
    [
        {"controls": [str(number) for number in range(100_000)]},
        {"controls": ["mine", "reno", "cubic"]},
        {"controls": ["mine"]},
        {"controls": []},
    ],
)
def test_a_matrix_whose_page_would_be_larger_than_its_file_is_none(
    client: FlaskClient, tmp_path: Path, changed: dict[str, object]
) -> None:
    (tmp_path / "harms" / "matrix.json").write_text(json.dumps(matrix("mine", "reno") | changed))
    text = client.get("/cards").text
    assert ": each control must be beside each once, in each variant" in text
    assert 'href="/cards/matrix/harms"' not in text
    assert client.get("/cards/matrix/harms").status_code == 404


@pytest.mark.parametrize("number", ["1e308", "-1e308", "NaN", "Infinity"])
def test_a_matrix_with_numbers_of_no_run_is_shown_or_refused(
    client: FlaskClient, tmp_path: Path, number: str
) -> None:
    document = json.dumps(matrix("mine", "reno")).replace("-0.5", number).replace("5000000", number)
    assert number in document
    (tmp_path / "harms" / "matrix.json").write_text(document)
    assert client.get("/cards").status_code == 200
    assert client.get("/cards/matrix/harms").status_code in (200, 404)


@pytest.mark.parametrize("name", ["mine", "empty", "link", "..", "nobody"])
def test_what_is_no_matrix_is_not_found(client: FlaskClient, name: str) -> None:
    assert client.get(f"/cards/matrix/{name}").status_code == 404


def test_the_reference_cards_of_the_program_are_shown_beside_them(client: FlaskClient) -> None:
    assert 'href="/cards/library/cubic-6.12"' in client.get("/cards").text
    text = client.get("/cards/library/cubic-6.12").text
    assert "<h1>Report card of cubic</h1>" in text
    assert "evaluate cubic --against cubic,reno,bbr --quick --only harm --kernel 6.12" in text
    assert client.get("/cards/library/nobody").status_code == 404
