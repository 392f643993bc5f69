"""Statements on filters are computed without runs: values, verdicts and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results.claims import claim_folders
from results.claims.claim_summaries import read
from tests.support.run import orchestrator

COMMITTED = read(claim_folders.folder() / "measured/tibet-T1-quick.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command's store be in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_reproduce_computes_the_values_of_the_summary_and_makes_no_run() -> None:
    result = orchestrator("reproduce", "tibet:T1", "--json", "--quiet")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    (verdict,) = document["verdicts"]
    assert (verdict["id"], verdict["verdict"]) == ("T1", "holds")
    for statement in document["statements"]:
        committed = COMMITTED.record.statements[statement["id"]]
        assert [row["label"] for row in statement["rows"]] == list(committed)
        for row in statement["rows"]:
            assert row["values"] == pytest.approx(list(committed[row["label"]].values), rel=1e-9)
            assert row["runs"] == []


@pytest.mark.slow
def test_periodic_arrivals_give_one_exact_value() -> None:
    result = orchestrator("reproduce", "tibet:T1.5", "--json", "--quiet")
    (statement,) = json.loads(result.stdout)["statements"]
    for row in statement["rows"]:
        assert (row["n"], row["low"] == row["high"], row["verdict"]) == (1, True, "holds")


@pytest.mark.slow
def test_without_a_compiler_nothing_is_run_and_the_error_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = orchestrator("reproduce", "tibet:T1", "--quiet")
    assert result.exit_code == 4
    assert "statements on filters are computed by a C program, and there is no gcc" in result.stderr
    assert "apt-get install gcc libc6-dev" in result.stderr
    assert not (tmp_path / "results/runs.db").exists()
