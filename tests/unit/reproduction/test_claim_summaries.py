"""Summaries of what ``reproduce`` found, and the pages that are made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results.claims.claim_summaries import read_all, read_causes
from results.claims.page.document import MeasurementCost, PageEvidence
from results.claims.page.figures import figures
from results.claims.page.overview import overview, pages
from results.claims.stated.loading import load_all
from tests.support import golden
from tests.support.reproduce import WORDS, made, paper, reproduce, state
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]

GOLDEN = Path(__file__).parent / "golden"


def page(evidence: PageEvidence) -> str:
    """Return the page of the paper of these tests."""
    made = pages(load_all(Path("papers/claims")), evidence)
    assert list(made) == ["reproduction.md", "claims/paper.md"]
    return made["claims/paper.md"]


def test_a_summary_makes_the_page_and_the_papers_number_its_verdict(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")
    cost = MeasurementCost(6, 120.0)
    none = PageEvidence({}, {}, {("paper", "W1"): cost})
    row = "| - | - | - | - | - | - | [W2](claims/paper.md#w2) | [W1](claims/paper.md#w1) |"
    assert f"| [paper](claims/paper.md) {row}" in overview(load_all(folder), none)
    before = page(none)
    assert "\n## W1\n" in before
    assert "\n## W2\n" in before
    assert "- It has 6 runs of 2 simulated minutes in all." in before
    status, found = reproduce("--write", "measured")
    assert status == 0
    measured = read_all(Path("measured"))
    assert list(measured) == [("paper", "W1")]
    record = measured["paper", "W1"].summaries[0].record
    assert len(record.runs) == sum(map(len, made().values()))
    assert {run.digest for run in record.runs} >= {"digest of 1"}
    first, *_others = record.statements["W1.1"].values()
    assert first.values == found["W1.1"]["rows"][0]["values"]
    (file,) = Path("measured").glob("*.json")
    assert json.loads(file.read_text()) == record.document()
    after = page(PageEvidence(measured))
    assert ", cause: " not in before
    assert "`orchestrator reproduce paper:W1 --quick --causes`." in " ".join(after.split())
    state("4.0")
    changed = page(PageEvidence(measured))
    assert "**Mostly holds.** One is slow" in changed
    assert changed != after


def test_a_page_reads_as_its_golden_file(paper: FakeRunner) -> None:
    assert paper is not None
    reproduce("paper:W1", "--causes", "--write", "m")
    evidence = PageEvidence(read_all(Path("m")), read_causes(Path("m")))
    golden.check(GOLDEN / "claim-page.txt", page(evidence))


@pytest.mark.slow
def test_ablations_read_as_their_golden_file(paper: FakeRunner) -> None:
    assert paper is not None
    result = orchestrator("reproduce", "paper:W1", "--causes", *WORDS)
    golden.check(GOLDEN / "reproduce-causes.txt", result.stdout)


def test_a_page_ends_with_the_notes_on_its_paper(paper: FakeRunner) -> None:
    assert paper is not None
    text = page(PageEvidence({}, notes={"paper": "### A table\n", "other": "### Another\n"}))
    head, _, notes = text.partition("\n## Measurements beside the claims\n")
    assert head
    assert notes.endswith("\n\n### A table\n")
    assert "Another" not in text
    assert "## Measurements" not in page(PageEvidence({}))


@pytest.mark.slow
def test_an_ablation_tests_its_statements_with_what_it_changes(paper: FakeRunner) -> None:
    _status, before = reproduce("paper:W1")
    own = made()
    result = orchestrator("reproduce", "paper:W1", "--causes", "--write", "m", *WORDS, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert {each["id"]: each for each in document["statements"]} == before
    (ablation,) = document["ablations"]
    assert (ablation["name"], ablation["claim"]) == ("cable", "W1")
    (statement,) = ablation["statements"]
    assert [row["n"] for row in statement["rows"]] == [2, 2]
    assert {each: len(made()[each]) - len(own[each]) for each in own} == {"10p": 2, "20p": 2}
    assert paper.asked[-1][0].runs[0].network != paper.asked[0][0].runs[0].network
    measured, causes = read_all(Path("m")), read_causes(Path("m"))
    assert list(causes) == [("paper", "W1", "cable")]
    (experiment,) = causes["paper", "W1", "cable"].record.experiments.values()
    assert experiment == ("sweep.yaml", ("topology.bottleneck.delay=7ms",))
    assert "| cable | W1.1 | short | 1 Mbit/s | " in page(PageEvidence(measured, causes))


@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_that_statements_have_no_ablation_is_said(paper: FakeRunner, plan: tuple[str, ...]) -> None:
    result = orchestrator("reproduce", "paper:W1.2", "--causes", *plan, *WORDS)
    assert (result.exit_code, bool(paper.asked)) == (0, not plan)
    assert "--causes: none of the chosen statements has an ablation; these have: paper:W1.1" in (
        result.stderr
    )


def test_an_ablation_without_the_runs_of_a_statement_says_so(paper: FakeRunner) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    wrong = "['matrix.topology.bottleneck.queue.limit=[30p]']"
    file.write_text(file.read_text().replace("[topology.bottleneck.delay=7ms]", wrong))
    shown = orchestrator("reproduce", "paper:W1", "--causes", *WORDS).stdout
    assert "open: no runs at this length" in shown


@pytest.mark.slow
def test_an_ablation_stands_beside_what_its_own_length_gave(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")

    def shown() -> tuple[list[str], bytes]:
        measured, causes = read_all(Path("m")), read_causes(Path("m"))
        text = page(PageEvidence(measured, causes))
        rows = [line for line in text.splitlines() if line.startswith("| cable |")]
        return rows, figures(load_all(folder), measured, causes)["paper-W1.1.svg"]

    reproduce("paper:W1", "--causes", "--write", "m")
    quick_rows, quick_figure = shown()
    reproduce("paper:W1", "--full", "--write", "m")
    rows, drawn = shown()
    assert len(rows) == 2
    assert rows == quick_rows
    assert b"cable" in quick_figure
    assert b"cable" not in drawn


@pytest.mark.slow
def test_the_page_has_figures_with_the_points_of_ablations(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")
    reproduce("--write", "m")
    measured = read_all(Path("m"))
    text = page(PageEvidence(measured))
    assert "![W1.1: one](paper-W1.1.svg)" in text
    without = figures(load_all(folder), measured, {})
    assert list(without) == ["paper-W1.1.svg"]
    reproduce("paper:W1", "--causes", "--write", "m")
    causes = read_causes(Path("m"))
    assert figures(load_all(folder), measured, causes) != without
    assert figures(load_all(folder), {}, causes) == {}
    assert "![" not in page(PageEvidence({}))


def test_a_summary_of_ablations_is_of_all_their_statements(paper: FakeRunner) -> None:
    file = Path("papers/claims/paper.yaml")
    text = file.read_text()
    file.write_text(text.replace("        of: [W1.1]\n", "        of: [W1.1, W1.2]\n"))
    words = ("--full", "--causes", "--write", "m", *WORDS)
    result = orchestrator("reproduce", "paper:W1.2", *words)
    assert (result.exit_code, paper.asked) == (2, [])
    assert "cable of paper:W1 is of all its statements: give paper:W1.1 too" in result.stderr
    file.write_text(text)
    result = orchestrator("reproduce", "paper:W1.1", *words)
    assert result.exit_code == 0, result.stderr
    measured, causes = read_all(Path("m")), read_causes(Path("m"))
    shown = " ".join(page(PageEvidence(measured, causes)).split())
    assert "`orchestrator reproduce paper:W1.1 --full --causes`." in shown
    (full,) = (summary for summary in measured["paper", "W1"].summaries if summary.length == "full")
    assert {name: list(rows) for name, rows in full.record.statements.items()} == {
        "W1.1": ["short", "long"]
    }


def test_a_statement_that_was_measured_alone_has_a_summary_of_its_own(paper: FakeRunner) -> None:
    assert paper is not None
    folder, there = Path("papers/claims"), Path("m")
    reproduce("paper:W1", "--write", "m")
    _status, found = reproduce("paper:W1.2", "--full", "--write", "m")
    files = ["paper-W1-quick.json", "paper-W1.2-full.json"]
    assert sorted(path.name for path in there.iterdir()) == files
    assert json.loads((there / files[1]).read_text())["statement"] == "W1.2"
    assert "statement" not in json.loads((there / files[0]).read_text())
    measured = read_all(there)["paper", "W1"]
    first, second = load_all(folder)["paper"].claims["W1"].statements
    assert [measured.of(each).length for each in (first, second)] == ["quick", "full"]
    of_claim, of_second = measured.main((first, second)), measured.main((second,))
    assert of_claim is not None
    assert of_second is not None
    assert (of_claim.file, of_second.file) == tuple(files)
    (judged,) = measured.rows(second)
    assert judged.finding.n == found["W1.2"]["rows"][0]["n"] == 4
    text = " ".join(page(PageEvidence({("paper", "W1"): measured})).split())
    assert "- Command: `orchestrator reproduce paper:W1 --quick`" in text
    assert "- W1.2: measured at the length *full*: 8 runs, " in text
    assert "Command: `orchestrator reproduce paper:W1.2 --full`" in text


def test_a_whole_claim_at_full_length_takes_the_place_of_all_others(paper: FakeRunner) -> None:
    assert paper is not None
    for words in (("paper:W1",), ("paper:W1.2", "--full"), ("paper:W1", "--full")):
        reproduce(*words, "--write", "m")
    measured = read_all(Path("m"))["paper", "W1"]
    claim = load_all(Path("papers/claims"))["paper"].claims["W1"]
    used = [(summary.file, ids) for summary, ids in measured.used(claim.statements)]
    assert used == [("paper-W1-full.json", ["W1.1", "W1.2"])]
