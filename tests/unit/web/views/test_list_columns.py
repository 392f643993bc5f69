"""The choice of columns in the list of runs."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.web import synthetic
from web import create_app
from web.views import list_columns

RATE, CONGESTION = "topology.bottleneck.rate", "flows.reno.congestion"
USUAL = [
    "Variant", "Congestion controls", "Status", "Verdict", "Goodput", "Utilisation", "Jain's index",
    "Experiment", "Repetition", "Run", "Started (UTC)", "Wall", "Seed",
]  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("columns") / "runs.db"
    ids = synthetic.fill(path)
    with Store(path) as store:
        housekeeping.add_tag(store, [ids["ok"]], "paper")
        housekeeping.add_note(store, [ids["ok"]], "<b>first</b>")
        housekeeping.add_note(store, [ids["ok"]], "second")
        store.begin(replace(synthetic.HEAD, variant={"seed": 7, "other.rate": "1mbit"}, seed=9))
    return path


@pytest.fixture
def client(db: Path) -> FlaskClient:
    return create_app(db).test_client()


def headings(client: FlaskClient, query: str) -> list[str]:
    """Return the words of the headings, without links to single axes."""
    return [words[0] for words in table(client, query)[0]]


def table(client: FlaskClient, query: str) -> list[list[list[str]]]:
    """Return the table's rows of cells of texts between tags."""
    answer = client.get(f"/runs?{query}")
    assert answer.status_code == 200, answer.text
    found = answer.text.partition('<table class="runs">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr[ >].*?</tr>", found, re.DOTALL)
    return [
        [
            [html.unescape(text).strip() for text in re.findall(r">([^<>]*\S[^<>]*)<", cell)]
            for cell in re.findall(r"<t[dh][ >].*?</t[dh]>", row, re.DOTALL)[1:]
        ]
        for row in rows
    ]


def test_usual_columns_begin_with_variant_and_controls(client: FlaskClient) -> None:
    assert headings(client, "") == USUAL


def test_tags_are_beside_the_variant_unless_they_have_a_column(client: FlaskClient) -> None:
    tag = '<span class="mark" title="tag">paper</span>'
    assert client.get("/runs?q=seed%3D1").text.count(tag) == 1
    beside = re.search(
        r"<td class=\"wrap\" title=.*?</td>",
        client.get("/runs?q=seed%3D1&column=variant&column=tag").text,
    )
    assert beside is not None
    assert tag not in beside[0]


def test_chosen_columns_alone_are_shown_and_the_run(client: FlaskClient) -> None:
    query = f"q=seed%3D1&column=notes&column=tag&column=kernel&column={RATE}&column=congestion"
    first, *rows = table(client, query)
    assert [words[0] for words in first] == [
        "Congestion controls", "bottleneck.rate", "Run", "Tags", "Notes", "Kernel",
    ]  # fmt: skip
    (cells,) = rows
    assert cells[:2] == [["westwood, reno"], ["10mbit"]]
    assert cells[3:] == [["paper"], ["<b>first</b>", "second"], ["6.12.57"]]


@pytest.mark.slow
def test_every_column_has_a_cell_of_its_own_in_each_row(client: FlaskClient) -> None:
    labels = {RATE: "bottleneck.rate", CONGESTION: "congestion", "other.rate": "other.rate"}
    every = [column.name for column in list_columns.columns(labels)]
    head, *rows = table(client, "&".join(f"column={name}" for name in every))
    assert len(head) == len(every)
    for row in rows:
        if len(row) > 1:  # the line of an error is one cell
            assert len(row) == len(every)
            assert all(row)
    sortable = [column.name for column in list_columns.columns(labels) if column.sortable]
    for name in sortable:
        assert client.get(f"/runs?sort={name}").status_code == 200, name


def test_sorting_filtering_and_pages_keep_the_choice(db: Path) -> None:
    client = create_app(db).test_client()
    chosen = ["status", "kernel", RATE]
    query = "&".join(f"column={name}" for name in chosen)
    text = client.get(f"/runs?{query}&sort=kernel").text
    links = [html.unescape(link) for link in re.findall(r'href="(/runs\?[^"]*)"', text)]
    assert len(links) > 5
    for link in links:
        assert sorted(parse_qs(urlsplit(link).query)["column"]) == sorted(chosen), link
    ticked = re.findall(r'name="column" value="([^"]+)"[^>]* checked', text)
    assert sorted(ticked) == sorted(chosen)


def test_usual_columns_are_not_in_the_addresses(client: FlaskClient) -> None:
    query = "&".join(f"column={name}" for name in list_columns.usual())
    text = client.get(f"/runs?{query}").text
    assert "sort=status" in text
    assert "column=" not in text
    assert headings(client, query) == USUAL


def test_an_axis_named_as_a_field_leaves_the_field_its_column(client: FlaskClient) -> None:
    head, *rows = table(client, "q=seed%3D9&column=seed")
    assert [words[0] for words in head] == ["Run", "Seed"]
    assert rows[0][1] == ["9"]


@pytest.mark.parametrize("query", ["column=nothing", "column=", "column=jain_indx", "metric=seed"])
def test_unknown_columns_are_refused_with_the_valid_ones(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/runs?{query}")
    assert answer.status_code == 400
    assert "jain_index" in answer.text
