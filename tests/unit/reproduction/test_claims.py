"""The committed claims: all forty are there, and all that they name exists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.recording.model import TCP_INFO_FIELDS
from orchestrator.reproduction import ablations, claim_runs
from orchestrator.reproduction.claim_runs import ClaimExperiment
from orchestrator.scenario import load
from results.claims import claim_folders
from results.claims.claim_summaries import ClaimSummary, read, read_all, read_causes
from results.claims.judge import DOES_NOT, HOLDS, MOSTLY, MOSTLY_NOT
from results.claims.page.document import judged_claims
from results.claims.page.ten_lines import HEADINGS, TEN_LINES, LessonLine
from results.claims.record import RecordedRun
from results.claims.stated.ablation import changed
from results.claims.stated.loading import load_all, select
from results.claims.stated.model import LENGTHS, Length, Paper, Quantity, Statement
from results.claims.stated.rows import rows, rows_of_any_length
from results.claims.values import ESTIMATE, INPUT_RATE
from tools import reproduction

NUMBERS = {"W": ("westwoodplus", 8), "L": ("logwestwood", 9), "T": ("tibet", 17), "B": ("libra", 6)}
SAMPLES = {name for name, _type in TCP_INFO_FIELDS} | {ESTIMATE, INPUT_RATE}

CLAIMS = claim_folders.folder()
PAPERS = CLAIMS.parent
MEASURED = read_all(CLAIMS / "measured")
CAUSES = read_causes(CLAIMS / "measured")

SUMMARIES = sorted((CLAIMS / "measured").rglob("*.json"))

papers = load_all(CLAIMS)


def test_all_forty_claims_are_there() -> None:
    assert list(papers) == sorted(name for name, _number in NUMBERS.values())
    for letter, (name, number) in NUMBERS.items():
        assert list(papers[name].claims) == [f"{letter}{each + 1}" for each in range(number)]
    assert sum(number for _name, number in NUMBERS.values()) == 40


def test_each_statement_has_a_reason_for_its_tolerance_or_says_why_it_cannot_be_tested() -> None:
    for paper in papers.values():
        for statement in paper.statements():
            assert statement.cannot or (statement.reason and statement.tolerance is not None), (
                statement.id
            )


def test_rows_of_a_statement_have_different_labels() -> None:
    # A summary keeps the values of a row by its label.
    for paper in papers.values():
        for statement in paper.statements():
            labels = [row.label for row in rows(statement)]
            assert len(set(labels)) == len(labels), statement.id


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", papers)
def test_all_that_the_claims_name_exists(name: str, length: Length) -> None:
    studies = claim_runs.prepare(papers, select(papers, name), length, PAPERS)
    every = list(papers[name].experiments)
    assert sorted(experiment for _paper, experiment in studies) == sorted(every)
    for statement in papers[name].statements():
        for row in rows(statement):
            for quantity in row.quantities():
                if quantity.filter is not None:
                    continue  # computed, without an experiment
                study = studies[name, str(quantity.experiment)]
                index = study.find(quantity)
                if length == "full":
                    assert index is not None, f"{statement.id}, {row.label}: no such variant"
                if index is not None and length != "reduced":
                    require(study, index, quantity, f"{statement.id}, {row.label}")


def require(study: ClaimExperiment, index: int, quantity: Quantity, where: str) -> None:
    scenario = study.loaded.variants[index].scenario
    entries = {flow.name for flow in scenario.flows}
    for flow in quantity.flows or ():
        known = flow in entries or flow.rpartition("-")[0] in entries  # a control of a campaign
        assert known, f"{where}: no flow entry {flow}"
    windows = {window.name for window in scenario.measure}
    assert quantity.window is None or quantity.window in windows, where
    assert quantity.sample is None or quantity.sample in SAMPLES, where


def test_scenarios_of_claims_are_below_the_papers() -> None:
    for paper in papers.values():
        for design in paper.experiments.values():
            assert (PAPERS / design.scenario).is_file()
            assert design.why or not design.set


@pytest.mark.slow
@pytest.mark.parametrize("name", papers)
def test_a_length_that_counts_less_than_a_tenth_of_the_papers_time_says_so(name: str) -> None:
    for experiment, design in papers[name].experiments.items():
        times_s = []
        for length in ("quick", "full"):
            scenario = load(PAPERS / design.scenario, design.overrides(length)).variants[0].scenario
            times_s.append(float(scenario.duration) - float(scenario.warmup))
        quick_s, full_s = times_s
        said = f"{quick_s:g} of {full_s:g} s" if quick_s < full_s / 10 else None
        assert design.quick.measures == said, experiment
        assert design.full.measures is None, experiment


@pytest.mark.slow
def test_the_pages_and_their_figures_are_what_claims_and_summaries_make() -> None:
    wrong = reproduction.differing(reproduction.made())
    assert wrong == [], "make them again with tools/reproduction.py"


def test_notes_are_of_papers() -> None:
    assert {path.stem for path in (reproduction.CLAIMS / "notes").iterdir()} <= set(papers)


def test_a_figure_has_statements_whose_text_gives_numbers() -> None:
    for paper in papers.values():
        for claim in paper.claims.values():
            there = {statement.id: statement for statement in claim.statements}
            for figure in claim.figures:
                for one in figure.of:
                    assert "no number" not in (there[one].reason or ""), one
                    assert any(row.numbers for row in rows(there[one])), one


def test_each_summary_has_values_of_rows_that_exist() -> None:
    for (name, claim), measured in MEASURED.items():
        for summary in measured.summaries:
            require_made_of(papers[name], claim, summary)


@pytest.mark.parametrize("path", SUMMARIES, ids=lambda path: path.stem)
def test_a_summary_that_is_read_and_written_is_equal_to_the_byte(path: Path) -> None:
    assert read(path).record.text() == path.read_text()


def test_each_summary_of_an_ablation_is_of_one_that_exists() -> None:
    for (name, claim, ablation), measured in CAUSES.items():
        there = {each.name: each for each in papers[name].claims[claim].ablations}
        require_made_of(changed(papers[name], claim, there[ablation]), claim, measured)


def test_an_ablation_changes_what_its_runs_do() -> None:
    for name, summary in CAUSES.items():
        without = summary.without.summaries if summary.without is not None else ()
        own = {identity(run): run.digest for each in without for run in each.record.runs}
        changed_runs = [run for run in summary.record.runs if own.get(identity(run)) != run.digest]
        assert changed_runs, f"{name}: all runs have the digests of those without it"


def identity(run: RecordedRun) -> str:
    """Return experiment, variant, repetition and seed of a run in a summary."""
    return json.dumps(run[:4], sort_keys=True)


def require_made_of(paper: Paper, claim: str, measured: ClaimSummary) -> None:
    there = {statement.id: statement for statement in paper.claims[claim].statements}
    for identifier, made_rows in measured.record.statements.items():
        known = {row.label for row in rows_of_any_length(there[identifier])}
        assert set(made_rows) <= known, f"{identifier}: measure it again, its data have changed"
    for experiment, made in measured.record.experiments.items():
        design = paper.experiments[experiment]
        now = (design.scenario, tuple(design.overrides(measured.length)))
        assert made == now, f"{claim}: measure it again, {experiment} has changed"


def test_a_cause_is_named_only_where_an_ablation_shows_it() -> None:
    for name, paper in papers.items():
        for claim, there in paper.claims.items():
            shown = {
                identifier
                for each in there.ablations
                if (name, claim, each.name) in CAUSES
                for identifier in each.of
            }
            named = {statement.id for statement in there.statements if statement.cause is not None}
            assert named <= shown, f"{named - shown}: no ablation was measured"


@pytest.mark.slow
def test_ablations_find_the_variants_of_their_statements() -> None:
    for name, paper in papers.items():
        chosen = [(name, each) for each in paper.statements()]
        for each in ablations.prepare(papers, chosen, "quick", PAPERS):
            found = [study.needed for study in each.experiments.values()]
            assert found, each.ablation.name
            assert all(found), each.ablation.name
            own = {one.id: one for one in paper.statements()}
            without = [(name, own[identifier]) for identifier in each.ablation.of]
            there = claim_runs.prepare(papers, without, "quick", PAPERS)
            for _name, statement in each.chosen:
                if has_rows(own[statement.id], name, there):
                    assert has_rows(statement, name, each.experiments), statement.id


def has_rows(statement: Statement, name: str, experiments: claim_runs.ClaimExperiments) -> bool:
    """Tell whether a length has all variants of any row of a statement."""
    return any(
        all(
            experiments[name, str(one.experiment)].find(one) is not None for one in row.quantities()
        )
        for row in rows_of_any_length(statement)
    )


@pytest.mark.slow
@pytest.mark.parametrize("lesson", TEN_LINES, ids=lambda lesson: lesson.statements[0])
def test_the_verdicts_are_what_each_of_the_ten_lines_says(lesson: LessonLine) -> None:
    judged = {
        statement.statement.id: statement.verdict
        for claim in judged_claims(papers, MEASURED).values()
        if claim is not None
        for statement in claim.statements
    }
    words = {judged[id_] for id_ in lesson.statements}
    if lesson.outcome == "survives":
        assert words <= {HOLDS, MOSTLY}
    elif lesson.outcome == "does not":
        assert words <= {DOES_NOT, MOSTLY_NOT}
    else:
        ablated = {
            id_
            for paper in papers.values()
            for claim in paper.claims.values()
            for ablation in claim.ablations
            for id_ in ablation.of
        }
        assert set(lesson.statements) <= ablated


def test_there_are_ten_lines() -> None:
    assert len(TEN_LINES) == 10
    assert {lesson.outcome for lesson in TEN_LINES} == set(HEADINGS)
