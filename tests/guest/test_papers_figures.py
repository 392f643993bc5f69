"""A paper's scenario draws the paper's figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from guest.build import GuestKernel
from orchestrator.cli import commands

pytestmark = pytest.mark.guest

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios/papers/logwestwood/fig08.yaml"


def test_run_draws_what_the_paper_shows(kernel: GuestKernel, tmp_path: Path) -> None:
    words = ["run", str(SCENARIO), "--reduced", "--db", str(tmp_path / "runs.db")]
    done = CliRunner().invoke(commands, [*words, "--figures", str(tmp_path / "figures")])
    assert done.exit_code == 0, done.stderr
    (figure,) = (tmp_path / "figures").iterdir()
    assert (figure.name, figure.read_bytes()[:5]) == ("fig08.pdf", b"%PDF-")
    assert "no interval: 1 of 1 values are of a single run" in done.stderr
