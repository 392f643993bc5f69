"""An axis of named values, everywhere: conditions, summaries, figures, pages, exports, crates."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from flask.testing import FlaskClient

from orchestrator import analysis
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording, Verdict
from results.experiment.experiments import experiments
from results.store.store import Store
from tests.support import experiments as synthetic
from tests.support import run as pretended
from tests.support.run import FakeRunner, fake, orchestrator
from web import create_app

pytestmark = pytest.mark.slow

__all__ = ["fake"]

SCENARIO = """\
version: 1
name: named
seed: 1
duration: 10s
repetitions: 3
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 20ms}}
flows:
  - {name: one, group: a, congestion: reno, traffic: {kind: bulk}}
  - {name: two, group: a, congestion: cubic, traffic: {kind: bulk}}
matrix:
  rtt:
    short: {topology.groups.a.access.delay: 5ms, topology.bottleneck.delay: 1ms}
    long: {topology.groups.a.access.delay: 50ms, topology.bottleneck.delay: 9ms}
  topology.bottleneck.rate: [5mbit, 10mbit]
"""
SETS = {
    "short": {"topology.groups.a.access.delay": "5ms", "topology.bottleneck.delay": "1ms"},
    "long": {"topology.groups.a.access.delay": "50ms", "topology.bottleneck.delay": "9ms"},
}
OF_SHORT = {"rtt": "short", "topology.bottleneck.rate": "5mbit"}


def measured(spec: RunSpec, verdict: Verdict, digest: str) -> Recording:
    """A recording whose goodputs depend on the variant and the seed."""
    rate = 5e6 if spec.variant["topology.bottleneck.rate"] == "5mbit" else 1e7
    share = 0.5 if spec.variant["rtt"] == "short" else 0.3
    one = rate * share + spec.repetition * 1e4
    made = synthetic._recording({"one": one, "two": one / 2}, digest)
    return replace(made, verdict=verdict, kernel=pretended.KERNEL.release)


@pytest.fixture
def label(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> str:
    """The label of an experiment of 12 runs, stored in the default database."""
    fake.digest = lambda spec: f"{sorted(spec.variant.items())} {spec.seed}"
    monkeypatch.setattr(pretended, "recording", measured)
    Path("named.yaml").write_text(SCENARIO)
    done = orchestrator("run", "named.yaml")
    assert done.exit_code == 0, done.stderr
    with Store.open_read_only(Path("results/runs.db")) as store:
        (found,) = experiments(store)
        return found.label


def said(*words: str) -> str:
    done = orchestrator(*words)
    assert done.exit_code == 0, (words, done.stderr)
    return done.stdout


def test_named_values_are_conditions_and_axes_of_summaries(label: str) -> None:
    runs = json.loads(said("runs", "--where", "rtt=short", "--json"))["runs"]
    assert [run["variant"]["rtt"] for run in runs] == ["short"] * 6
    assert runs[0]["variant"] == OF_SHORT
    document = json.loads(said("summary", label, "--by", "rtt", "--json"))
    axis, rate = document["axes"]
    assert (axis["path"], axis["label"], axis["values"]) == ("rtt", "rtt", ["short", "long"])
    assert (axis["sets"], axis["numbers"]) == (SETS, None)
    assert set(axis["paths"]) == set(SETS["long"])
    assert rate["path"] == "topology.bottleneck.rate"
    compared = {
        (difference["a"], difference["b"])
        for difference in document["differences"]
        if difference["axis"]
    }
    assert compared == {("short", "long")}
    planned = json.loads(said("plan", "named.yaml", "--json"))
    assert planned["axes"] == document["axes"]
    narrow = json.loads(said("summary", label, "--where", "rtt=short", "--json"))
    assert {row["variant"]["rtt"] for row in narrow["rows"]} == {"short"}
    refused = orchestrator("summary", label, "--where", "rtt=shrt")
    assert (refused.exit_code, "did you mean `short`?" in refused.stderr) == (2, True)
    rows = list(csv.DictReader(io.StringIO(said("summary", label, "--csv"))))
    assert {row["rtt"] for row in rows} == {"short", "long"}
    rows = list(csv.DictReader(io.StringIO(
        said("summary", label, "--by", "rtt", "--csv-differences")
    )))  # fmt: skip
    assert {row["axis"] for row in rows} == {"rtt"}
    assert "short & 5mbit & one & 3 &" in said("summary", label, "--latex")
    assert "| short | 5mbit | one | 3 |" in said("summary", label, "--markdown")
    (long, *_others) = json.loads(said("runs", "--where", "rtt=long", "--json"))["runs"]
    compared_runs = said("compare", runs[0]["id"], long["id"])
    assert re.search(r"^variant\.rtt +short +long", compared_runs, re.MULTILINE), compared_runs


FIGURES = {
    "by it": ["metric", "--metric", "goodput_bps", "--by", "rtt"],
    "colour": ["metric", "--metric", "goodput_bps", "--by", "rate", "--colour-by", "rtt"],
    "each run": ["metric", "--metric", "goodput_bps", "--by", "rtt", "--each"],
    "bars": ["bars", "--metric", "goodput_bps", "--by", "rtt"],
    "box": ["box", "--metric", "goodput_bps", "--by", "rtt"],
    "heatmap": ["heatmap", "--metric", "goodput_bps", "--by", "rtt", "--by", "rate", "--of", "run"],
    "tradeoff": ["tradeoff", "--delay", "jain_index", "--of", "run"],
    "cdf": ["cdf", "--where", "rtt=short", "--metric", "goodput_bps"],
}


@pytest.mark.parametrize("words", FIGURES.values(), ids=list(FIGURES))
def test_figures_show_named_values_by_their_names(label: str, words: list[str]) -> None:
    kind, *options = words
    drawn = orchestrator("plot", kind, label, *options, "-o", "figure.svg")
    assert drawn.exit_code == 0, drawn.stderr
    text = Path("figure.svg").read_text()
    assert "topology.groups" not in text
    if "--where" not in words:
        assert "short" in text
        assert "long" in text


def text_of(client: FlaskClient, page: str) -> str:
    answer = client.get(page)
    assert answer.status_code == 200, (page, answer.text)
    return answer.text


def test_pages_and_their_forms_have_the_axis(label: str) -> None:
    client = create_app(Path("results/runs.db")).test_client()
    page = f"/experiments/{label}"
    with Store.open_read_only(Path("results/runs.db")) as store:
        run = store.list_runs()[0].id
    plain = text_of(client, page)
    for name in ("x", "colour", "facet", "by"):
        form = plain.partition(f'<select name="{name}"')[2].partition("</select>")[0]
        assert '<option value="rtt"' in form, name
        chosen = text_of(client, f"{page}?{name}=rtt")
        form = chosen.partition(f'<select name="{name}"')[2].partition("</select>")[0]
        assert '<option value="rtt" selected' in form, name
        assert "short" in chosen
    narrow = text_of(client, f"{page}?where=rtt%3Dshort+and+rate%3D5mbit")
    assert ">long<" not in narrow
    assert "rtt=short" in text_of(client, "/runs?where=rtt%3Dshort")
    assert "rtt=long" not in text_of(client, "/runs?where=rtt%3Dshort")
    assert "rtt=short" in text_of(client, f"/runs/{run}")
    summary = json.loads(text_of(client, f"/api/experiments/{label}/summary?by=rtt"))
    assert summary["axes"][0]["sets"] == SETS
    listed = json.loads(text_of(client, "/api/runs?where=rtt%3Dlong"))
    assert {each["variant"]["rtt"] for each in listed["runs"]} == {"long"}


def test_frames_and_exports_have_a_column_of_names(label: str) -> None:
    with analysis.open("results/runs.db") as results:
        for frame in (
            results.runs(label), results.flows(label), results.windows(label),
            results.summary(label),
        ):  # fmt: skip
            assert set(frame["rtt"]) == {"short", "long"}
        differences = results.differences(label, by=["rtt"])
        assert {(each.a, each.b) for each in differences.itertuples()} == {("short", "long")}
        assert set(results.summary(label, where=["rtt=long"])["rtt"]) == {"long"}
    said("export", label, "--format", "csv", "-o", "out.csv")
    assert {"short", "long"} == {
        row["rtt"] for row in csv.DictReader(io.StringIO(Path("out.csv").read_text()))
    }
    said("export", label, "--format", "parquet", "-o", "out.parquet")
    names = duckdb.execute("SELECT DISTINCT rtt FROM 'out.parquet'").fetchall()
    assert sorted(names) == [("long",), ("short",)]


def test_a_report_a_resume_and_a_crate_keep_the_names(label: str, fake: FakeRunner) -> None:
    said("report", label, "--by", "rtt", "-o", "by")
    page = Path("by/report.html").read_text()
    assert "long − short" in page
    assert "topology.groups.a.access.delay</t" not in page
    said("report", label, "--where", "rtt=short", "-o", "narrow")
    assert "rtt=short" in Path("narrow/report.html").read_text()
    made = len(fake.asked)
    resumed = orchestrator("run", "named.yaml", "--resume")
    assert "12 of 12 runs are stored already" in resumed.stderr
    other = "matrix.rtt.short.topology.bottleneck.delay=2ms"
    assert len(fake.asked) == made
    resumed = orchestrator("run", "named.yaml", "--resume", "--set", other, "--db", "other.db")
    assert resumed.exit_code == 0
    resumed = orchestrator("run", "named.yaml", "--resume", "--db", "other.db")
    assert "6 of 12 runs are stored already" in resumed.stderr
    with Store.open_read_only(Path("other.db")) as store:
        assert len(experiments(store)) == 2  # what a name sets belongs to the identity
    said("export", label, "--format", "rocrate", "-o", "crate")
    again = orchestrator("run", "crate", "--db", "again.db")
    assert again.exit_code == 0, again.stderr
    assert "12 of 12 runs are bit-identical" in again.stdout
    with Store.open_read_only(Path("again.db")) as store:
        (found,) = experiments(store)
        assert found.label == label
        assert {row.variant["rtt"]: row.variant_sets["rtt"] for row in found.rows} == SETS
    before = json.loads(said("summary", label, "--json"))
    after = json.loads(said("summary", label, "--json", "--db", "again.db"))
    for row in (*before["rows"], *after["rows"]):
        for metric in row["metrics"].values():
            del metric["runs"]  # their ids
    assert after == before
