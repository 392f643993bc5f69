"""The pages of the papers' claims show the verdicts of the document, with their evidence."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from results.claims.claim_summaries import read_all, rows_of
from results.claims.judge import NOT_YET
from results.claims.page.document import judged_claims, verdicts
from results.claims.page.ten_lines import TEN_LINES
from results.claims.stated.loading import load_all
from web import create_app
from web.views import claim_evidence

PAPERS = load_all(claim_evidence.USUAL)
MEASURED = read_all(claim_evidence.USUAL / "measured")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return create_app(tmp_path_factory.mktemp("papers") / "none.db").test_client()


@pytest.fixture(scope="module")
def page_of(client: FlaskClient) -> Callable[[str], str]:
    """The text of a page by its address; each is made once."""
    return functools.cache(lambda address: client.get(address).text)


@pytest.mark.slow
def test_each_claim_is_in_the_matrix_and_leads_to_its_evidence(client: FlaskClient) -> None:
    text = client.get("/papers").text.partition("In ten lines")[0]
    links = re.findall(r'href="(/papers/\w+)#(\w+)"', text)
    assert sorted(links) == sorted(
        (f"/papers/{name}", claim) for name, paper in PAPERS.items() for claim in paper.claims
    )
    assert f"all {len(links)}</th>" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_shows_the_verdict_and_every_measured_row(client: FlaskClient, name: str) -> None:
    text = client.get(f"/papers/{name}").text
    found = verdicts(PAPERS, MEASURED)
    for claim, of in PAPERS[name].claims.items():
        assert f'id="title-{claim}">{claim}: {found[name, claim] or NOT_YET}</h2>' in text
        made = MEASURED.get((name, claim))
        for statement in of.statements:
            for judged in rows_of(statement, made):
                assert f"<td>{judged.text}</td>" in text


@pytest.mark.slow
def test_one_figure_has_all_claims(client: FlaskClient, page_of: Callable[[str], str]) -> None:
    assert 'src="/papers/agreement.svg"' in client.get("/papers").text
    answer = client.get("/papers/agreement.svg")
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
    assert answer.data == client.get("/papers/agreement.svg").data
    drawn = answer.text
    judged = judged_claims(PAPERS, MEASURED)
    counting = {
        claim
        for (_paper, claim), found in judged.items()
        if found is not None and found.agreement is not None
    }
    named = set(re.findall(r"<!-- ([WLTB]\d+) -->", drawn))
    assert named == counting
    assert len(named) > 30
    for address in set(re.findall(r'href="(/papers/[^"]+)"', drawn)):
        page, _, claim = address.partition("#")
        assert f'id="{claim}"' in page_of(page)
        counting.remove(claim)
    assert not counting


@pytest.mark.slow
def test_ten_lines_lead_to_their_evidence(page_of: Callable[[str], str]) -> None:
    text = page_of("/papers")
    for lesson in TEN_LINES:
        assert lesson.says in unescape(text)
        for id_ in lesson.statements:
            (address,) = set(re.findall(rf'<a href="([^"]+)">{re.escape(id_)}</a>', text))
            page, _, claim = address.partition("#")
            assert id_.partition(".")[0] == claim
            assert f'id="{claim}"' in page_of(page)


@pytest.mark.slow
def test_a_measured_statement_has_a_figure_in_each_form(client: FlaskClient) -> None:
    name, statement = next(
        (name, statement)
        for (name, claim), made in MEASURED.items()
        for statement in PAPERS[name].claims[claim].statements
        if any(judged.finding.mean is not None for judged in made.rows(statement))
    )
    for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        answer = client.get(f"/papers/{name}/{statement.id}.{form}")
        assert answer.data.startswith(start)


@pytest.mark.slow
def test_a_statement_that_was_measured_longer_than_its_claim_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "claims"
    shutil.copytree(claim_evidence.USUAL, folder)
    quick = json.loads((folder / "measured/westwoodplus-W2-quick.json").read_text())
    (folder / "measured/westwoodplus-W2-quick.json").unlink()
    for longer in folder.glob("measured/*-full.json"):
        longer.unlink()
    ids = list(quick["statements"])
    for name, length in ((None, "quick"), (ids[0], "full")):
        rows = quick["statements"] if name is None else {name: quick["statements"][name]}
        one = {**quick, "length": length, "statements": rows}
        file = f"westwoodplus-{name or 'W2'}-{length}.json"
        (folder / "measured" / file).write_text(
            json.dumps(one if name is None else {**one, "statement": name})
        )
    app = create_app(tmp_path / "none.db")
    app.config[claim_evidence.FOLDER] = folder
    client = app.test_client()
    text = client.get("/papers/westwoodplus").text
    assert text.count("; measured at the length full") == 1
    assert f"reproduce westwoodplus:{ids[0]} --full" in text
    told = client.get("/api/papers/westwoodplus").get_json()["claims"][1]
    assert (told["id"], told["length"]) == ("W2", "quick")
    lengths = {statement["id"]: statement["length"] for statement in told["statements"]}
    assert lengths == {each: "full" if each == ids[0] else "quick" for each in ids}
    for place, length in (("W2", "quick"), (ids[0], "full"), (ids[1], "quick")):
        answer = client.get(f"/api/papers/westwoodplus/{place}")
        assert answer.get_json()["length"] == length


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/papers/nothing", 404), ("/papers/tibet/T99.9.svg", 404), ("/papers/tibet/T1.gif", 404),
        ("/papers/no/T1.1.svg", 404), ("/papers?x=1", 400), ("/papers/tibet?x=1", 400),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(client: FlaskClient, address: str, status: int) -> None:
    assert client.get(address).status_code == status


def test_without_installed_claims_the_page_says_so(tmp_path: Path) -> None:
    app = create_app(tmp_path / "none.db")
    app.config[claim_evidence.FOLDER] = tmp_path / "claims"
    answer = app.test_client().get("/papers")
    assert answer.status_code == 200
    assert "The claims are not installed" in answer.text
    assert app.test_client().get("/papers/tibet").status_code == 404
