"""The scenarios of ``orchestrator init`` run, and their runs are faithful."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from guest.build import GuestKernel
from orchestrator.cli import commands


@pytest.mark.guest
@pytest.mark.parametrize(
    ("options", "words", "runs"),
    [([], ["--set", "duration=12s"], 1), (["--sweep"], ["--reduced"], 2)],
)
def test_a_starter_runs_faithfully(
    kernel: GuestKernel, db: Path, tmp_path: Path, options: list[str], words: list[str], runs: int
) -> None:
    file = str(tmp_path / "mine.yaml")
    assert CliRunner().invoke(commands, ["init", file, *options]).exit_code == 0
    done = CliRunner().invoke(commands, ["run", file, *words, "--db", str(db), "--json"])
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["runs"]
    assert [run["fidelity"]["verdict"] for run in found] == ["faithful"] * runs
    for run in found:
        assert [flow["congestion_control"] for flow in run["flows"]] == ["cubic", "bbr"]
        assert run["metrics"]["utilisation"] > 0.9
