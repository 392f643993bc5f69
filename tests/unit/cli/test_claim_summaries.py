"""Summaries of what ``reproduce`` found, and the page that is made of them."""

from __future__ import annotations

import json
from pathlib import Path

from results.claims.loading import load_all
from results.claims.measured import read_all, read_causes
from results.claims.page import Cost, Evidence, page
from results.claims.page_figures import figures
from tests.unit.cli.test_reproduce import WORDS, made, paper, reproduce, state
from tests.unit.cli.test_run import FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]


def test_a_summary_makes_the_page_and_the_papers_number_its_verdict(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")
    cost = Cost(6, 120.0)
    before = page(load_all(folder), Evidence({}, {}, {("paper", "W1"): cost}))
    assert "| paper | - | - | - | - | [W2](#w2) | [W1](#w1) |" in before
    assert "- It has 6 runs of 2 simulated minutes in all." in before
    status, found = reproduce("--write", "measured")
    assert status == 0
    measured = read_all(Path("measured"))
    assert list(measured) == [("paper", "W1")]
    document = measured["paper", "W1"].summaries[0].document
    assert len(document["runs"]) == sum(map(len, made().values()))
    assert {run[5] for run in document["runs"]} >= {"digest of 1"}
    assert document["statements"]["W1.1"][0]["values"] == found["W1.1"]["rows"][0]["values"]
    after = page(load_all(folder), Evidence(measured))
    assert "| W1.2 | The queue helps. long / short | Fig. 1 | above 1 | " in after
    assert "- W1.2, cause: The cable is short." in after
    assert ", cause: " not in before
    assert "`orchestrator reproduce paper:W1 --quick --causes`." in " ".join(after.split())
    state("4.0")
    changed = page(load_all(folder), Evidence(measured))
    assert "**Holds in part.** One is slow" in changed
    assert changed != after


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
    (experiment,) = causes["paper", "W1", "cable"].document["experiments"].values()
    assert experiment == ["sweep.yaml", ["topology.bottleneck.delay=7ms"]]
    text = page(load_all(Path("papers/claims")), Evidence(measured, causes))
    assert "| cable | W1.1 | short | 1 Mbit/s | " in text
    shown = orchestrator("reproduce", "paper:W1", "--causes", *WORDS).stdout
    assert "paper W1, cable: The cable is longer. It tells whether the cable matters." in shown


def test_an_ablation_without_the_runs_of_a_statement_says_so(paper: FakeRunner) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    wrong = "['matrix.topology.bottleneck.queue.limit=[30p]']"
    file.write_text(file.read_text().replace("[topology.bottleneck.delay=7ms]", wrong))
    shown = orchestrator("reproduce", "paper:W1", "--causes", *WORDS).stdout
    assert "undecided: no runs at this length" in shown


def test_an_ablation_stands_beside_what_its_own_length_gave(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")

    def shown() -> tuple[list[str], bytes]:
        measured, causes = read_all(Path("m")), read_causes(Path("m"))
        text = page(load_all(folder), Evidence(measured, causes))
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


def test_the_page_has_figures_with_the_points_of_ablations(paper: FakeRunner) -> None:
    assert paper is not None
    folder = Path("papers/claims")
    reproduce("--write", "m")
    measured = read_all(Path("m"))
    text = page(load_all(folder), Evidence(measured))
    assert "![W1.1: one](reproduction/paper-W1.1.svg)" in text
    without = figures(load_all(folder), measured, {})
    assert list(without) == ["paper-W1.1.svg"]
    reproduce("paper:W1", "--causes", "--write", "m")
    causes = read_causes(Path("m"))
    assert figures(load_all(folder), measured, causes) != without
    assert figures(load_all(folder), {}, causes) == {}
    assert "![" not in page(load_all(folder), Evidence({}))


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
    shown = " ".join(page(load_all(Path("papers/claims")), Evidence(measured, causes)).split())
    assert "`orchestrator reproduce paper:W1.1 --full --causes`." in shown
    (full,) = (each for each in measured["paper", "W1"].summaries if each.length == "full")
    assert full.labels() == {"W1.1": ["short", "long"]}


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
    ((_row, finding),) = measured.findings(second)
    assert finding.n == found["W1.2"]["rows"][0]["n"] == 4
    text = " ".join(page(load_all(folder), Evidence({("paper", "W1"): measured})).split())
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
