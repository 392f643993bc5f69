"""A metric that is registered appears in text, JSON, exports and pages, and nowhere by name."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli import commands
from results.documents import run_document
from results.export import export
from results.metrics import METRICS, TableColumn
from results.metrics.base import RunData, Span, metric
from results.store.store import Store
from tests.web import synthetic
from web import create_app


@pytest.fixture
def registered() -> Iterator[None]:
    before = dict(METRICS)

    @metric(
        "flow_count",
        unit="1",
        subject="flow",
        scopes=("run", "flow"),
        title="Number of flows",
        columns=(TableColumn("tcp", 90, "flows counted"),),
    )
    def flow_count(data: RunData, flows: Sequence[int], span: Span) -> float | None:
        """Number of flows that the function got."""
        return 40 + len(flows)

    @metric("link_age_s", unit="s", subject="link", scopes=("link",))
    def link_age(data: RunData, links: Sequence[int], span: Span) -> float | None:
        """Length of the span."""
        return span.length_s

    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture
def stored(registered: None, tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "runs.db"
    return path, synthetic.fill(path)["ok"]


def shown(*arguments: str) -> list[list[str]]:
    result = CliRunner().invoke(commands, arguments, obj={})
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.output.splitlines()]


def test_text_shows_them(stored: tuple[Path, str]) -> None:
    path, run_id = stored
    lines = shown("show", run_id, "--db", str(path))
    assert ["flow_count", "42"] in lines  # of the run
    heading = next(n for n, line in enumerate(lines) if line[-2:] == ["flows", "counted"])
    assert lines[heading + 2][0] == "westwood"
    assert lines[heading + 2][-1] == "41"
    assert ["metric", "of", "link", "bottleneck:forward", "unit"] in lines
    assert ["link_age_s", "50000.000", "ms"] in lines


def test_comparisons_show_them(stored: tuple[Path, str]) -> None:
    path, run_id = stored
    lines = shown("compare", run_id, run_id, "--db", str(path))
    assert lines.count(["flow_count", "42", "42", "+0.0%"]) == 1
    assert lines.count(["flow_count", "41", "41", "+0.0%"]) == 2
    assert ["link_age_s", "ms", "50000.000", "50000.000", "+0.0%"] in lines


def test_json_and_exports_have_them(stored: tuple[Path, str], tmp_path: Path) -> None:
    path, run_id = stored
    with Store.open_read_only(path) as store:
        (document,) = run_document.of_ids(store, [run_id])["runs"]
        export(store.load(run_id), "csv", tmp_path / "run.csv")
    assert document["metrics"]["flow_count"] == 42
    assert [flow["flow_count"] for flow in document["flows"]] == [41, 41]
    assert {link["link_age_s"] for link in document["links"]} == {50}
    with (tmp_path / "run.metrics.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert ["", "run", "", "flow_count", "1", "42"] in rows
    assert ["", "flow", "reno", "flow_count", "1", "41"] in rows
    assert ["", "link", "bottleneck:forward", "link_age_s", "s", "50.0"] in rows


def test_pages_show_them(stored: tuple[Path, str]) -> None:
    path, run_id = stored
    client = create_app(path).test_client()
    page = client.get(f"/runs/{run_id}").text
    assert '<div data-metric="flow_count">' in page
    flows = page.partition('<table id="flows">')[2].partition("</table>")[0]
    assert flows.count(">Flows counted</abbr></th>") == 1
    assert flows.count('<td class="n">41</td>') == 2
    links = page.partition('<table id="link-metrics">')[2].partition("</table>")[0]
    assert ">Link age</abbr></th>" in links
    assert links.count('<td class="n">50 s</td>') == 4


def test_the_list_of_runs_shows_them_when_chosen(stored: tuple[Path, str]) -> None:
    path, _ = stored
    client = create_app(path).test_client()
    assert '<td class="n">42</td>' not in client.get("/runs").text
    chosen = client.get("/runs?metric=flow_count").text
    assert ">Number of flows</a></th>" in chosen
    assert '<td class="n">42</td>' in chosen
    wrong = client.get("/runs?metric=nothing")
    assert wrong.status_code == 400
    assert "goodput_bps" in wrong.text


def test_a_column_of_another_scope_is_refused() -> None:
    with pytest.raises(TypeError, match="no values for the table link"):
        metric(
            "a", unit="1", subject="flow", scopes=("flow",), columns=(TableColumn("link", 1, "a"),)
        )(METRICS["goodput_bps", "run"].function)
