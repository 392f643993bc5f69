"""``run`` draws the figures that a scenario names."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import RECEIVER, TCP_DTYPE, Recording, Verdict
from tests.support import run as pretended
from tests.support.run import SCENARIO, FakeRunner, fake, orchestrator

__all__ = ["fake"]

FIGURES = """\
repetitions: 2
matrix:
  topology.bottleneck.queue.limit: [10p, 20p]
figures:
  - {kind: metric, metric: goodput_bps, by: limit, file: goodput.pdf}
  - {kind: metric, metric: rtt_mean_s, file: rtt.svg}
"""
_empty = pretended.recording


def recording(spec: RunSpec, verdict: Verdict, digest: str) -> Recording:
    tcp = np.zeros(3, TCP_DTYPE)
    tcp["endpoint"], tcp["time_ns"] = RECEIVER, np.arange(3) * 10**9
    tcp["bytes_received"] = np.arange(3) * 1_000_000 + spec.seed % 1000
    return dataclasses.replace(_empty(spec, verdict, f"{digest} {spec.variant}"), tcp=tcp)


@pytest.fixture
def measured(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    monkeypatch.setattr(pretended, "recording", recording)
    Path("pair.yaml").write_text(SCENARIO + FIGURES)
    return fake


@pytest.mark.slow
def test_figures_are_drawn_beside_the_store(measured: FakeRunner) -> None:
    measured.verdict[1] = "unfaithful"
    done = orchestrator("run", "pair.yaml", "--set", "figures.1.metric=goodput_bps")
    assert done.exit_code == 3  # two runs are not faithful
    (folder,) = Path("results/plots").iterdir()
    assert folder.name.startswith("pair@")
    assert (folder / "goodput.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "rtt.svg").read_bytes().startswith(b"<?xml")
    assert f"drew {folder / 'goodput.pdf'}\n" in done.stderr
    assert "goodput.pdf: left out: 2 runs unfaithful\n" in done.stderr


@pytest.mark.slow
def test_a_figure_that_cannot_be_drawn_is_an_error(measured: FakeRunner) -> None:
    done = orchestrator("run", "pair.yaml", "--figures", "paper/figures", "--quiet")
    assert done.exit_code == 2
    assert "error: rtt.svg is not drawn: pair has no values of rtt_mean_s" in done.stderr
    assert [one.name for one in Path("paper/figures").iterdir()] == ["goodput.pdf"]


@pytest.mark.slow
def test_figures_are_drawn_again_from_stored_runs(measured: FakeRunner) -> None:
    words = ("run", "pair.yaml", "--set", "figures.1.metric=goodput_bps", "--figures", "out")
    assert orchestrator(*words).exit_code == 0
    first = Path("out/goodput.pdf").read_bytes()
    Path("out/goodput.pdf").unlink()
    assert orchestrator(*words, "--resume").exit_code == 0
    assert Path("out/goodput.pdf").read_bytes() == first
    assert len(measured.asked) == 1


def test_a_folder_needs_figures(measured: FakeRunner) -> None:
    done = orchestrator("run", "pair.yaml", "--set", "figures=[]", "--figures", "out")
    assert done.exit_code == 2
    assert "--figures: the scenario names no figures" in done.stderr
    assert not measured.asked
    done = orchestrator("run", "--verify", "last", "--figures", "out")
    assert "--resume and --figures" in done.stderr
